//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// isolated returns flags of ashlar that select free ports and a temporary directory.
func isolated(t *testing.T) []string { return withData(filepath.Join(t.TempDir(), "data")) }

// withData is isolated with a directory.
func withData(dir string, more ...string) []string {
	args := append([]string{"-data", dir, "-devices", "20"}, more...)
	for _, port := range []string{"-port", "-inventory-port", "-catalog-port", "-http-port", "-grpc-port", "-debug-port"} {
		args = append(args, port, "0")
	}
	return args
}

// TestEditedLimits starts ashlar with limits of the user, edits them, and starts it again.
func TestEditedLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	decide := func(limits string) string {
		require.NoError(t, os.WriteFile(file, []byte(limits), 0o600))
		p := start(t, nil, "ashlar", append(isolated(t), "-limits", dir)...)
		addr := p.waitFor(p.stdout, `gRPC +([0-9.:]+)\n(?s:.*)all files in `)[1]
		defer p.stop()
		return decision(t, addr, "shop", "client=ann")
	}
	require.Equal(t, "OK", decide(yearly))
	require.Equal(t, "OVER_LIMIT", decide("domain: shop\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: 0}\n"))

	require.NoError(t, os.WriteFile(file, []byte("domain: shop\ndescriptors:\n  - kee: client\n  - key: x\n    rate_limit: {unit: moon}\n"), 0o600))
	p := run(t, 1, "ashlar", append(isolated(t), "-limits", dir)...)
	require.Regexp(t, `mine\.yaml:3:5: .*unknown key 'kee'`, p.stderr.String())
	require.Regexp(t, `mine\.yaml:5:24: invalid rate limit unit 'moon'`, p.stderr.String())
}

// TestReadmeShowsTheWelcome checks that the README shows the output of the program, except for ports,
// the sign-in code and the paths of files.
func TestReadmeShowsTheWelcome(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(checkout, "README.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```text\n(ashlar is running.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown)
	w := startServer(t, "go run ./cmd/ashlar")
	printed, _, _ := strings.Cut(w.stdout.String(), "\nTry in another terminal")
	for port, addr := range w.addrs {
		printed = regexp.MustCompile(regexp.QuoteMeta(addr)+`\b`).ReplaceAllString(printed, "127.0.0.1:"+port)
	}
	own := regexp.MustCompile(`code=[A-Z2-7]{26}|\S+/admin-password|\S+/limits/demo\.yaml`)
	require.Len(t, own.FindAllString(printed, -1), 3, printed)
	require.Equal(t, own.ReplaceAllString(string(shown[1]), "***"), own.ReplaceAllString(printed, "***"))
	w.stop()
}

// TestDataIsLocked checks that a second process on the same data is refused before it changes anything, also with
// -fresh, and that the end of the first one releases the lock, however it ends.
func TestDataIsLocked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := start(t, nil, "ashlar", withData(dir)...)
	home := first.waitFor(first.stdout, `start here +(http://\S+/)`)[1]
	edited := filepath.Join(dir, "limits", "demo.yaml")
	require.NoError(t, os.WriteFile(edited, []byte(content(t, edited)+"# mine\n"), 0o600))
	files := func() (all map[string]string) {
		all = map[string]string{}
		for _, name := range []string{"admin-password", "ashlar.lock", "limits/demo.yaml"} {
			all[name] = content(t, filepath.Join(dir, name))
		}
		return all
	}
	before := files()
	for _, more := range [][]string{nil, {"-fresh"}} {
		p := run(t, 1, "ashlar", withData(dir, more...)...)
		require.Empty(t, p.stdout.String())
		require.Regexp(t, `^ashlar: -data: `+regexp.QuoteMeta(dir)+` is used by another ashlar, process `+fmt.Sprint(first.cmd.Process.Pid)+
			`, since 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d, at `+regexp.QuoteMeta(home)+`: stop it, or choose another directory with -data\n$`, p.stderr.String())
		require.Equal(t, before, files())
	}
	code, page := httpDo(t, http.MethodGet, home, "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, page, "<strong>20</strong>", "the devices")

	first.signal(syscall.SIGKILL)
	<-first.ended
	second := start(t, nil, "ashlar", withData(dir)...)
	second.waitFor(second.stdout, `start here +(http://\S+/)`)
	require.Equal(t, before["admin-password"], content(t, filepath.Join(dir, "admin-password")))
	require.Equal(t, before["limits/demo.yaml"], content(t, edited))
	second.stop()
	third := start(t, nil, "ashlar", withData(dir, "-fresh")...)
	third.waitFor(third.stdout, `start here +(http://\S+/)`)
	require.NotEqual(t, before["admin-password"], content(t, filepath.Join(dir, "admin-password")))
	require.NotContains(t, content(t, edited), "# mine")
	third.stop()
}

// TestEditedSample edits the sample of limits while ashlar runs: a valid edit decides at once and is one line in the
// terminal, an invalid one is one line with its position and changes nothing, but is refused at the next start.
func TestEditedSample(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, nil, "ashlar", withData(dir)...)
	addr := p.waitFor(p.stdout, `gRPC +([0-9.:]+)\n`)[1]
	file := p.waitFor(p.stdout, `limits +(\S+) \(changes take effect at once\)\n`)[1]
	require.Equal(t, filepath.Join(dir, "limits", "demo.yaml"), file)
	sample := content(t, filepath.Join(checkout, "cmd", "ashlar", "sample", "demo.yaml"))
	require.Equal(t, sample, content(t, file))
	require.Equal(t, "OK", decision(t, addr, "demo", "client=ann"))

	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("domain: demo\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: 0}\n")
	p.waitFor(p.stderr, `(?s)configuration loaded .*configuration loaded .*\n`)
	require.Equal(t, "OVER_LIMIT", decision(t, addr, "demo", "client=ann"))
	write("domain: demo\ndescriptors:\n  - kee: client\n")
	p.waitFor(p.stderr, `ERROR .*\n`)
	require.Equal(t, "OVER_LIMIT", decision(t, addr, "demo", "client=ann"))
	lines := regexp.MustCompile(`(?m)^.*(configuration|demo\.yaml).*$`).FindAllString(p.stderr.String(), -1)
	require.Len(t, lines, 3, "one line for each load:\n%s", strings.Join(lines, "\n"))
	require.Regexp(t, `limits +ERROR error loading configuration err=demo\.yaml:3:5: .*unknown key 'kee'`, lines[2])
	p.stop()

	p = run(t, 1, "ashlar", withData(dir)...)
	require.Regexp(t, `^ashlar: invalid rate limits in `+regexp.QuoteMeta(filepath.Dir(file))+`:\ndemo\.yaml:3:5: .*unknown key 'kee'`, p.stderr.String())
	require.Equal(t, "domain: demo\ndescriptors:\n  - kee: client\n", content(t, file), "it is the user's now")
	mine := filepath.Join(dir, "limits", "mine.yaml")
	require.NoError(t, os.WriteFile(mine, []byte(yearly), 0o600))
	p = start(t, nil, "ashlar", withData(dir, "-fresh")...)
	p.waitFor(p.stdout, `limits +\S+ \(`)
	require.Equal(t, sample, content(t, file))
	require.Equal(t, yearly, content(t, mine), "-fresh deletes files of the program only")
	p.stop()
}

// TestDamagedDatabase checks that ashlar names a file that is damaged, and that -fresh starts with a new one.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	serve := func(more ...string) {
		p := start(t, nil, "ashlar", withData(dir, more...)...)
		p.waitFor(p.stdout, `ashlar is running`)
		p.stop()
	}
	serve()
	file := filepath.Join(dir, "inventory.db")
	whole := content(t, file)
	for cause, text := range map[string]string{
		"file is not a database":             strings.Repeat("garbage ", 10_000),
		"database disk image is malformed":   whole[:len(whole)/10],
		"database disk image is (malformed)": whole[:40_000] + string(bytes.Repeat([]byte{0xff}, len(whole)-40_000)),
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		p := run(t, 1, "ashlar", withData(dir)...)
		require.Regexp(t, `^ashlar: -data: the database `+regexp.QuoteMeta(file)+` is damaged: .* or use -fresh, which deletes it .*: `+cause+` \(\d+\)\n$`, p.stderr.String())
	}
	serve("-fresh")
	serve()
}
