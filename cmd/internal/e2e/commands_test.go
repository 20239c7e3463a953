//go:build unix

package e2e_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrintedCommands runs the commands that servers print for new users. Commands that send rate
// limited requests are repeated until one is denied.
func TestPrintedCommands(t *testing.T) {
	t.Parallel()
	limited := regexp.MustCompile(`ratelimit-client|/json |/login\?`)
	for start, limit := range map[string]int{"go run ./cmd/ashlar": 5, "go run ./examples/mux": 3, "go run ./examples/grpcserver": 3} {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			w := startServer(t, start)
			w.waitFor(w.stdout, `\n\n$`)
			lines := regexp.MustCompile(`(?m)^  ((?:go run|curl) .*)$`).FindAllStringSubmatch(w.stdout.String(), -1)
			require.NotEmpty(t, lines, "%s", w.stdout)
			for _, line := range lines {
				if limited.MatchString(line[1]) {
					require.True(t, denied(t, line[1], limit), "never denied: %s", line[1])
				} else if out, ok := shell(t, line[1]); ok {
					require.Regexp(t, `^HTTP/1\.1 2`, out, "%s", line[1])
				}
			}
			w.stop()
			require.NotRegexp(t, `WARN|ERROR|panic`, w.stderr.String())
		})
	}
}

// denied repeats a command and reports whether it was denied. The number of attempts suffices for
// two windows, because a minute may end in between.
func denied(t *testing.T, line string, limit int) bool {
	t.Helper()
	for range 2*limit + 1 {
		out, ok := shell(t, line)
		if !ok || strings.HasPrefix(out, "refused: ") || strings.HasPrefix(out, "HTTP/1.1 429 ") {
			return true
		}
	}
	return false
}

// address is a default address of a server.
type address struct {
	port  string // in the documentation
	flags string // select a free port instead
	where string // pattern of the output that contains the address
}

// addresses returns the addresses of the documented servers.
func addresses() map[string][]address {
	return map[string][]address{
		"ashlar": {
			{"8080", "-http-port 0", `over HTTP +http://([0-9.:]+)/json\n`},
			{"8081", "-grpc-port 0", `over gRPC +([0-9.:]+)\n`},
			{"6070", "-debug-port 0", `rate limits +http://([0-9.:]+)/console/\n`},
			{"8000", "-catalog-port 0", `catalog +http://([0-9.:]+)/api/books\n`},
			{"3000", "-inventory-port 0", `inventory +http://([0-9.:]+)/console/\n`},
			{"8888", "-port 0", `start here +http://([0-9.:]+)/\n`},
		},
		"ratelimitd": {
			{"8080", "", `HTTP on ([0-9.:]+)`},
			{"8081", "", `gRPC on ([0-9.:]+)`},
			{"6070", "", `debug on ([0-9.:]+)`},
		},
		"inventoryd":      {{"3000", "-addr 127.0.0.1:0", `http://([0-9.:]+), records in `}},
		"manifest":        {{"8787", "-addr 127.0.0.1:0", `API +http://([0-9.:]+)/v0.1/servers\n`}},
		"bookcatalogd":    {{"8000", "-addr 127.0.0.1:0", `http://([0-9.:]+)/api/books, `}},
		"mux":             {{"8082", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"manifest-upload": {{"8084", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"grpcserver":      {{"8083", "-addr 127.0.0.1:0", `listening on ([0-9.:]+);`}},

		"bookcatalog-store":   {{"8002", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"inventory-mount":     {{"8003", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"webhook-receiver":    {{"8014", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"inventory-contracts": {{"8009", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"api-keys":            {{"8007", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"token-budget":        {{"8013", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"notes":               {{"8010", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"redis-limit":         {{"8091", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
	}
}

// listening is a server that has printed its addresses.
type listening struct {
	*process
	addrs map[string]string // by the port in the documentation
}

// startServer starts a server with a documented command, but on free ports and with little data.
func startServer(t *testing.T, command string) *listening {
	t.Helper()
	dir := checkout
	switch name := path.Base(strings.Fields(command)[2]); name {
	case "ashlar":
		command += " -devices 20 -data " + filepath.Join(t.TempDir(), "data")
	case "inventoryd":
		command += " -devices 100 -database-url :memory:"
	case "bookcatalog-store":
		dir = t.TempDir() // the example writes a file
	}
	return startDocumented(t, dir, command)
}

// startDocumented starts a server with a documented command, but on free ports. Words before the
// command set variables of its environment.
func startDocumented(t *testing.T, dir, command string) *listening {
	t.Helper()
	environ := map[string]string{}
	words := strings.Fields(command)
	for ; len(words) > 0 && strings.Contains(words[0], "="); words = words[1:] {
		name, value, _ := strings.Cut(words[0], "=")
		environ[name] = value
	}
	words = strings.Fields(strings.TrimPrefix(strings.Join(words, " "), "go run "))
	name, args := path.Base(words[0]), words[1:]
	if name == "ratelimitd" {
		maps.Copy(environ, map[string]string{"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0"})
	}
	require.NotEmpty(t, addresses()[name], "which addresses does %s listen on?", name)
	for _, a := range addresses()[name] {
		args = append(args, strings.Fields(a.flags)...)
	}
	w := &listening{process: startIn(t, dir, environ, name, args...), addrs: map[string]string{}}
	printed := w.stdout
	if name == "bookcatalogd" || name == "inventoryd" || name == "ratelimitd" {
		printed = w.stderr
	}
	for _, a := range addresses()[name] {
		w.addrs[a.port] = w.waitFor(printed, a.where)[1]
	}
	return w
}

// at replaces the documented addresses in a command with those of the server.
func (w *listening) at(line string) string {
	if !strings.Contains(line, "-dial_string") { // the default of the client is one of them
		line = strings.ReplaceAll(line, "/ratelimit-client ", "/ratelimit-client -dial_string localhost:8081 ")
	}
	for port, addr := range w.addrs {
		line = regexp.MustCompile(`(localhost|127\.0\.0\.1):`+port+`\b`).ReplaceAllString(line, addr)
	}
	return line
}

// shell runs a command that must succeed, with the built programs instead of go run. ok is false if
// the command needs curl and there is none.
func shell(t *testing.T, line string) (out string, ok bool) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil && strings.HasPrefix(line, "curl ") {
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), "curl is not on the PATH")
		t.Logf("curl is not on the PATH: skipped: %s", line)
		return "", false
	}
	line = regexp.MustCompile(`\bgo run \./(?:cmd|examples)/`).ReplaceAllString(line, binaries+"/")
	require.NotContains(t, line, "go run", "build the program in TestMain")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), promptRaces, "no_proxy=localhost,127.0.0.1") // curl must not use a proxy for these
	text, err := cmd.Output()
	require.NoError(t, err, "%s", line)
	return string(text), true
}
