//go:build unix

package e2e_test

import (
	"go/parser"
	"go/token"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serving returns the expected output of the commands in the comment of each example, in order.
func serving() map[string][]string {
	return map[string][]string{
		"bookcatalog-store":   {`"title":"Emma"`, `"title":"Emma"`},
		"inventory-mount":     {`"data":\[\]`, `"name":"Berlin 1"`},
		"inventory-contracts": {`"hostname":"core-1"`},
		"webhook-receiver":    {`^HTTP/1\.1 401 `},
		"redis-limit":         {`(?is)^HTTP/1\.1 200 .*\r\nRateLimit-Limit: 20\r\n`},
		"api-keys":            {`(?is)^HTTP/1\.1 200 .*\r\nRateLimit-Limit: 5\r\n`, `(?is)^HTTP/1\.1 200 .*\r\nRateLimit-Limit: 600\r\n`},
		"token-budget":        {`(?s)^HTTP/1\.1 200 .*\nsky\nblue\?\n$`},
		"notes":               {`(?s)^HTTP/1\.1 201 .*\r\nLocation: /notes/1\r\n`, `"status":400,.*"field":"title"`, `"total_count":1},"data":\[{"title":"Call Ann"`, `"text":"before noon"`},
	}
}

// TestServingExamples starts each example, runs the commands in its comment and the one that it prints,
// and interrupts it.
func TestServingExamples(t *testing.T) {
	t.Parallel()
	for name, responses := range serving() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := commented(t, name)
			require.Equal(t, "go run ./examples/"+name, lines[0])
			lines = lines[1:]
			require.Len(t, lines, len(responses), "%q", lines)
			w := startServer(t, "go run ./examples/"+name)
			for i, line := range lines {
				require.NotEqual(t, line, w.at(line), "the command must use the address of the example")
				if out, ok := shell(t, w.at(line)); ok {
					require.Regexp(t, responses[i], out, line)
				}
			}
			printed := w.waitFor(w.stdout, `listening on [^\n]* Try[^\n]*:\n\n  (curl -i [^\n]*)\n\n$`)[1]
			if out, ok := shell(t, printed); ok {
				require.Regexp(t, `^HTTP/1\.1 200 `, out, printed)
			}
			w.stop()
			require.NotRegexp(t, `level=(WARN|ERROR)|panic`, w.stderr.String())
			if name == "bookcatalog-store" {
				require.Contains(t, content(t, filepath.Join(w.cmd.Dir, "books.json")), `"title":"Emma"`)
			}
		})
	}
}

// commented returns the commands in the comment of an example, each on one line.
func commented(t *testing.T, example string) (lines []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(checkout, "examples", example, "main.go"), nil,
		parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	text := strings.ReplaceAll(file.Doc.Text(), "\\\n", "")
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "\t"); ok {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	require.NotEmpty(t, lines)
	return lines
}

// TestPortsOfExamples checks that the ports of examples are unique, and that the error about a port in
// use names it.
func TestPortsOfExamples(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	seen := map[string]string{}
	for _, name := range []string{"mux", "grpcserver", "manifest-upload", "bookcatalog-store", "inventory-mount", "redis-limit", "webhook-receiver", "inventory-contracts", "api-keys", "token-budget", "notes"} {
		port := addresses()[name][0].port
		require.Empty(t, seen[port], "%s uses the port of another example", name)
		seen[port] = name
		require.Regexp(t, `\(default "(localhost|127\.0\.0\.1):`+port+`"\)`, run(t, 0, name, "-h").stderr.String())

		p := startIn(t, t.TempDir(), nil, name, "-addr", l.Addr().String())
		require.Equal(t, 1, p.code(), name)
		require.Contains(t, p.stderr.String(), "listen tcp "+l.Addr().String()+": ", name)
	}
}
