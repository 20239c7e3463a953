//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// TestPages does what a reader of README.md and of the pages in docs does: it runs their commands in a
// copy of the repository, in one shell for each page, and compares the output with the block below the
// commands. doc.go describes the marks of blocks.
func TestPages(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(checkout)
	names := []string{"README.md"}
	require.NoError(t, fs.WalkDir(tree, "docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	}))
	for _, name := range names {
		page, err := markdown.Read(tree, name)
		require.NoError(t, err)
		if len(page.BlocksOf("sh")) == 0 {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			t.Parallel()
			r := &reader{t: t, page: page, dir: copyRepository(t)}
			r.shell = startShell(t, r.dir)
			r.read()
		})
	}
}

// reader runs the commands of a page.
type reader struct {
	t       *testing.T
	page    *markdown.Page
	dir     string // the copy of the repository
	shell   *interactive
	servers []*listening
}

// The marks of blocks, in the line above.
const (
	markServer = "<!-- in another terminal -->"
	markRepeat = "<!-- repeat until it matches -->"
	markFile   = "<!-- file: "
	markNot    = "<!-- not run: "
)

// read runs all blocks. The output of a command is in the next block, with nothing in between.
func (r *reader) read() {
	blocks := r.page.Blocks()
	for i, b := range blocks {
		if name, ok := strings.CutPrefix(b.Above, markFile); ok {
			r.write(strings.TrimSuffix(name, " -->"), b.Text())
			continue
		}
		if b.Language != "sh" {
			continue
		}
		var shown *markdown.Block
		if i+1 < len(blocks) && r.follows(&b, &blocks[i+1]) {
			shown = &blocks[i+1]
		}
		switch {
		case strings.HasPrefix(b.Above, markNot):
			r.t.Logf("%s %s", r.page.Fault(b.First, "%s", b.Lines[0]), b.Above)
		case b.Above == markServer:
			r.serve(&b, shown)
		default:
			r.run(&b, shown)
		}
	}
}

// follows reports whether a block shows the output of the one before it.
func (r *reader) follows(b, next *markdown.Block) bool {
	between := r.page.Lines[b.First+len(b.Lines)+1 : next.First-1]
	return (next.Language == "text" || next.Language == "json") && strings.TrimSpace(strings.Join(between, "")) == ""
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
}

// serve starts a server that runs until the end of the page.
func (r *reader) serve(b, shown *markdown.Block) {
	r.t.Helper()
	require.Len(r.t, b.Lines, 1, r.page.Fault(b.First, "one server for each block"))
	if strings.HasPrefix(b.Lines[0], "redis-server") {
		r.servers = append(r.servers, &listening{addrs: map[string]string{"6379": redistest.Start(r.t, nil).Addr}})
		return
	}
	var w *listening
	if strings.HasPrefix(b.Lines[0], "go run . ") {
		w = r.startOwn(b)
	} else {
		w = startDocumented(r.t, r.dir, r.asRun(b.Lines[0]))
	}
	r.servers = append(r.servers, w)
	if shown == nil {
		return
	}
	deadline := time.Now().Add(timeout)
	for {
		for _, o := range []*output{w.stdout, w.stderr} {
			out := regexp.MustCompile(`(?m)^time=.*\n`).ReplaceAllString(o.String(), "") // as of a database that takes long to create
			if pattern(shown.Text(), "").MatchString(r.asDocumented(out)) {
				return
			}
		}
		if time.Now().After(deadline) {
			require.Fail(r.t, r.page.Fault(shown.First, "the output of %s is\n%s%s", b.Lines[0], r.asDocumented(w.stdout.String()), r.asDocumented(w.stderr.String())))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// startOwn builds and starts the server in the directory of the shell. Its documented address is the
// last word of the command, the value of -addr.
func (r *reader) startOwn(b *markdown.Block) *listening {
	r.t.Helper()
	words := strings.Fields(b.Lines[0])[3:]
	require.GreaterOrEqual(r.t, len(words), 2, r.page.Fault(b.First, "end the command with -addr 127.0.0.1:PORT"))
	require.Equal(r.t, "-addr", words[len(words)-2], r.page.Fault(b.First, "end the command with -addr 127.0.0.1:PORT"))
	_, port, _ := strings.Cut(words[len(words)-1], ":")
	words[len(words)-1] = "127.0.0.1:0"
	program := filepath.Join(r.t.TempDir(), "server")
	out, ok := r.shell.run("go build -o "+program+" .", false)
	require.True(r.t, ok)
	require.FileExists(r.t, program, r.page.Fault(b.First, "not built:\n%s", out))
	w := &listening{process: startBinary(r.t, r.dir, nil, program, words...)}
	w.addrs = map[string]string{port: w.waitFor(w.stdout, `listening on http://([0-9.:]+)`)[1]}
	return w
}

// run runs a block. Its commands must succeed, or its output be as shown.
func (r *reader) run(b, shown *markdown.Block) {
	r.t.Helper()
	var lines []string
	for _, line := range b.Lines {
		if !strings.HasPrefix(line, "make ") { // the test of the README checks targets
			lines = append(lines, line)
		}
	}
	script := r.asRun(strings.Join(lines, "\n"))
	deadline := time.Now().Add(20 * time.Second)
	for {
		out, ok := r.shell.run(script, shown == nil)
		out = r.asDocumented(out)
		if shown == nil {
			require.True(r.t, ok, "%s", r.page.Fault(b.First, "failed:\n%s\n\n%s", strings.Join(lines, "\n"), out))
			return
		}
		if ok && pattern(shown.Text(), "$").MatchString(out) {
			return
		}
		if b.Above != markRepeat || !ok || time.Now().After(deadline) {
			require.Fail(r.t, r.page.Fault(shown.First, "the output of\n%s\nis\n%s", strings.Join(lines, "\n"), out))
		}
		<-time.After(100 * time.Millisecond)
	}
}

// asRun replaces programs by built ones, and documented addresses by those that the servers listen on.
func (r *reader) asRun(text string) string {
	text = regexp.MustCompile(`\bgo run \./(?:cmd|examples)/`).ReplaceAllString(text, binaries+"/")
	lines := strings.Split(text, "\n")
	for i := range lines {
		for _, w := range slices.Backward(r.servers) {
			lines[i] = w.at(lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// asDocumented replaces what the test has changed in an output.
func (r *reader) asDocumented(out string) string {
	out = strings.ReplaceAll(out, "\r", "")
	for _, w := range r.servers {
		for port, addr := range w.addrs {
			out = regexp.MustCompile(regexp.QuoteMeta(addr)+`\b`).ReplaceAllString(out, "127.0.0.1:"+port)
		}
	}
	return strings.ReplaceAll(out, binaries+"/", "")
}

// pattern returns the pattern of a shown output: "..." stands for any text of a line, and as a line for
// any lines.
func pattern(shown, end string) *regexp.Regexp {
	p := "^"
	for line := range strings.Lines(shown) {
		if line == "...\n" {
			p += `(?s:.*\n)?`
			continue
		}
		line = regexp.QuoteMeta(strings.TrimRight(line, " \n"))
		p += strings.ReplaceAll(line, `\.\.\.`, `.*`) + ` *\n`
	}
	return regexp.MustCompile(strings.TrimSuffix(p, `\n`) + `\n?` + end)
}

// interactive is a shell that runs one script after the other.
type interactive struct {
	t      *testing.T
	input  io.Writer
	output *output
	ended  chan struct{}
	n      int
	dir    string
}

func startShell(t *testing.T, dir string) *interactive {
	t.Helper()
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\nmax-time = 60\nnoproxy = \"localhost,127.0.0.1\"\n"), 0o600))
	cmd := exec.Command("sh")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), promptRaces, trimpath(), "CURL_HOME="+home, "NO_COLOR=1")
	s := &interactive{t: t, output: newOutput(), ended: make(chan struct{}), dir: home}
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	s.input = input
	require.NoError(t, cmd.Start())
	go func() {
		defer close(s.ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = input.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with what it has started
		<-s.ended
	})
	return s
}

// run runs a script and returns its output. If strict is true, ok is false when a command fails, and the
// shell is of no more use.
func (s *interactive) run(script string, strict bool) (out string, ok bool) {
	s.t.Helper()
	s.n++
	file := filepath.Join(s.dir, fmt.Sprintf("%d.sh", s.n))
	require.NoError(s.t, os.WriteFile(file, []byte(script+"\n"), 0o600))
	end := fmt.Sprintf("<<end of %d>>", s.n)
	option := "+e"
	if strict {
		option = "-e"
	}
	before := len(s.output.String())
	_, err := fmt.Fprintf(s.input, "set %s\n. %s </dev/null\nset +e\necho '%s'\n", option, file, end)
	require.NoError(s.t, err)
	found := s.output.await(regexp.QuoteMeta(end), s.ended)
	out, _, _ = strings.Cut(s.output.String()[before:], end)
	return out, found != nil
}

// trimpath returns a variable that makes go build ignore the path of a copy, so that its packages are
// compiled once for all copies.
func trimpath() string { return "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath") }

// copyRepository copies the files of the repository, those that a clone has, to a directory.
func copyRepository(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = checkout
	list, err := cmd.Output()
	require.NoError(t, err, "git lists the files of the checkout")
	dir := filepath.Join(t.TempDir(), "ashlar")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name := range bytes.SplitSeq(bytes.Trim(list, "\x00"), []byte{0}) {
		from, to := filepath.Join(checkout, string(name)), filepath.Join(dir, string(name))
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // deleted, and not committed
		}
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular(), "%s is no regular file", name)
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, text, info.Mode().Perm()))
	}
	return dir
}
