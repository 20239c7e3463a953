package lsp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/lsp"
)

// compact formats by replacing the text, which shows that the editor applies it.
func compact(text []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// The test is also the server that the editor starts.
func TestMain(m *testing.M) {
	if os.Getenv("ASHLAR_LSP_SERVER") == "1" {
		if err := lsp.Serve(context.Background(), os.Stdin, os.Stdout, &lsp.Options{Format: compact}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A session with a real editor: what it shows, and what its buffer is after its edits.
func TestNeovim(t *testing.T) {
	t.Parallel()
	editor, err := exec.LookPath("nvim")
	if err != nil {
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			t.Fatal("nvim is not on PATH")
		}
		t.Skip("SKIPPED: nvim is not on PATH: the language server was not tested with an editor")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	script, err := filepath.Abs(filepath.Join("testdata", "session.lua"))
	require.NoError(t, err)
	dir := t.TempDir()
	file, output := filepath.Join(dir, "server.json"), filepath.Join(dir, "seen.json")
	require.NoError(t, os.WriteFile(file, []byte("{\n  \"name\": \"com.example/weather\",\n  \"description\": \"Wetter in Köln 🌦\", \"Title\": \"Wetter\", \"version\": \"1.0.0\"\n}\n"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, editor, "--headless", "--clean", "-n", "-c", "luafile "+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LSP_SERVER="+self, "LSP_FILE="+file, "LSP_OUTPUT="+output, "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(output)
	require.NoError(t, err, "%s", out)
	type diagnostic struct {
		Line, From, To, Severity int
		Message                  string
	}
	var seen struct {
		Diagnostics, Before    []diagnostic
		After                  any
		Hover, Completed, Text string
		Keys, Values, Actions  []string
		Stopped                bool
	}
	require.NoError(t, json.Unmarshal(data, &seen))
	t.Logf("%s", data)
	require.Len(t, seen.Diagnostics, 1)
	require.Equal(t, 2, seen.Diagnostics[0].Line)
	require.Equal(t, `unknown key "Title" has no effect (did you mean "title"?)`, seen.Diagnostics[0].Message)
	require.Equal(t, 2, seen.Diagnostics[0].Severity)
	require.Contains(t, seen.Hover, "required")
	require.Contains(t, seen.Keys, "packages")
	require.NotContains(t, seen.Keys, "name", "a member that is there")
	require.Equal(t, `  "packages": []`, seen.Completed)
	require.Equal(t, []string{"stdio", "streamable-http", "sse"}, seen.Values)
	require.Equal(t, []string{`did you mean "title"?`}, seen.Actions)
	require.Contains(t, seen.Text, `"title":"Wetter"`)
	require.NotContains(t, seen.Text, "\n", "not formatted")
	require.True(t, json.Valid([]byte(seen.Text)))
	require.Contains(t, seen.Text, "🌦")
	require.True(t, seen.Stopped)
}

// session is a connection to a server.
type session struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func start(t testing.TB, opts *lsp.Options) *session {
	t.Helper()
	r, in := io.Pipe()
	out, w := io.Pipe()
	s := &session{t: t, in: in, out: bufio.NewReader(out), done: make(chan error, 1)}
	go func() {
		err := lsp.Serve(t.Context(), r, w, opts)
		_ = w.CloseWithError(io.EOF)
		_ = r.Close()
		s.done <- err
	}()
	t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
	return s
}

// send sends a message.
func (s *session) send(body string) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(s.t, err)
}

// receive returns the next message of the server.
func (s *session) receive() map[string]any {
	s.t.Helper()
	header, err := s.out.ReadString('\n')
	require.NoError(s.t, err)
	length, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(header, "Content-Length: ")))
	require.NoError(s.t, err)
	_, err = s.out.ReadString('\n')
	require.NoError(s.t, err)
	body := make([]byte, length)
	_, err = io.ReadFull(s.out, body)
	require.NoError(s.t, err)
	var m map[string]any
	require.NoError(s.t, json.Unmarshal(body, &m))
	return m
}

func (s *session) request(method, params string) map[string]any {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": %q, "params": %s}`, method, params))
	return s.receive()
}

const open = `{"textDocument": {"uri": "file:///server.json", "version": 1, "text": %q}}`

// open opens a document and returns its problems.
func (s *session) open(text string) []any {
	s.t.Helper()
	s.request("initialize", `{}`)
	s.send(fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": `+open+`}`, text))
	m := s.receive()
	require.Equal(s.t, "textDocument/publishDiagnostics", m["method"])
	return m["params"].(map[string]any)["diagnostics"].([]any)
}

// The order of a session, and what is answered outside of it.
func TestSession(t *testing.T) {
	t.Parallel()
	s := start(t, &lsp.Options{Profile: manifest.Registry, Version: "1.2.3"})
	code := func(m map[string]any) any { return m["error"].(map[string]any)["code"] }
	require.EqualValues(t, -32002, code(s.request("textDocument/hover", `{}`)))
	s.send("{")
	require.EqualValues(t, -32700, code(s.receive()))
	m := s.request("initialize", `{"capabilities": {}}`)
	require.Equal(t, map[string]any{"name": "manifest", "version": "1.2.3"}, m["result"].(map[string]any)["serverInfo"])
	require.EqualValues(t, -32601, code(s.request("textDocument/rename", `{}`)))
	require.EqualValues(t, -32602, code(s.request("textDocument/hover", `[]`)))
	require.EqualValues(t, -32602, code(s.request("textDocument/hover", `{"textDocument": {"uri": "file:///x"}}`)))
	s.send(`{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}`)
	s.send(`{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": []}`)
	s.send(`{"jsonrpc": "2.0", "id": 9, "result": null}`)
	require.NotEmpty(t, s.open(`{}`), "the rules of the profile")
	s.send(`{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///server.json"}}}`)
	require.Empty(t, s.receive()["params"].(map[string]any)["diagnostics"])
	require.Nil(t, s.request("shutdown", "null")["result"])
	require.EqualValues(t, -32600, code(s.request("textDocument/hover", `{}`)))
	s.send(`{"jsonrpc": "2.0", "method": "exit"}`)
	require.NoError(t, <-s.done)
}

// Messages that a server cannot read end the session with a reason.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, message string }{
		{"", "ended without shutdown"},
		{"Content-Length: 99999999999\r\n\r\n", "must be a number up to 33554432"},
		{"Content-Length: -1\r\n\r\n", "must be a number up to 33554432"},
		{"X: y\r\n\r\n", "has no Content-Length"},
		{strings.Repeat("x", 10_000), "more than 4096 bytes"},
		{strings.Repeat("x: y\r\n", 10_000), "more than 4096 bytes"},
		{"Content-Length: 10\r\n\r\n{}", "ended after 2 of 10 bytes"},
		{"Content-Length: 17\r\n\r\n{\"method\":\"exit\"}", "exit without shutdown"},
	} {
		err := lsp.Serve(t.Context(), strings.NewReader(c.sent), io.Discard, nil)
		require.ErrorContains(t, err, c.message)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	r, w := io.Pipe()
	defer w.Close()
	require.EqualError(t, lsp.Serve(ctx, r, io.Discard, nil), "stopped")
}

// What is suggested and described at the mark | in texts that are mostly not JSON yet.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		completions []string // some of them
		not         string
		hover       string
	}{
		{`{|`, []string{"name", "packages", "remotes"}, "registryType", ""},
		{`{"name": "a/b", "|`, []string{"version"}, "name", ""},
		{`{"na|`, []string{"name"}, "", ""},
		{`{"version|": 1, "name": "x"}`, []string{"version"}, "name", "string, required"},
		{`{"packages": [{"|`, []string{"registryType", "identifier"}, "remotes", ""},
		{`{"packages": [{}, {"transport": {"type": "|`, []string{"stdio", "sse"}, "", ""},
		{`{"packages": [{"environmentVariables": [{"format": "|"`, []string{"filepath"}, "", "string"},
		{`{"packages": [{"environmentVariables": [{"isSecret": |`, []string{"true", "false"}, "", ""},
		{`{"remotes": [{"variables": {"x": {"|`, []string{"description", "isRequired"}, "url", ""},
		{`{"packages": [{"packageArguments": [{"type": "|"}]}]}`, []string{"positional", "named"}, "", ""},
		{`|`, nil, "name", ""},
		{`{} |`, nil, "name", ""},
		{`]]}}{"|`, []string{"name"}, "", ""},
		{strings.Repeat(`{"packages":[`, 300) + `|`, nil, "name", ""},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		s := start(t, nil)
		s.open(before + after)
		at := fmt.Sprintf(`{"textDocument": {"uri": "file:///server.json"}, "position": {"line": 0, "character": %d}}`, len(before))
		var labels []string
		for _, item := range s.request("textDocument/completion", at)["result"].([]any) {
			labels = append(labels, item.(map[string]any)["label"].(string))
		}
		for _, want := range c.completions {
			require.Contains(t, labels, want, c.text)
		}
		require.NotContains(t, labels, c.not, c.text)
		hover, _ := s.request("textDocument/hover", at)["result"].(map[string]any)
		if c.hover != "" {
			require.Contains(t, hover["contents"].(map[string]any)["value"], c.hover, c.text)
		}
	}
}

// FuzzText opens any text and asks at any place. Every suggestion is an edit within the text.
func FuzzText(f *testing.F) {
	f.Add(`{"packages": [{"transport": {"type": ""}}]}`, uint16(0), uint16(38))
	f.Add("{\n\"na", uint16(1), uint16(3))
	f.Add("\"\\", uint16(0), uint16(2))
	f.Fuzz(func(t *testing.T, text string, line, character uint16) {
		if !json.Valid([]byte(strconv.Quote(text))) {
			return
		}
		s := start(t, &lsp.Options{Format: compact})
		s.open(text)
		at := fmt.Sprintf(`{"textDocument": {"uri": "file:///server.json"}, "position": {"line": %d, "character": %d}}`, line, character)
		for _, method := range []string{"completion", "hover", "codeAction", "formatting"} {
			m := s.request("textDocument/"+method, at)
			require.NotContains(t, m, "error", method)
		}
	})
}
