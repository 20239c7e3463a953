//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// session is a list of documented commands, verbatim, in the order in which a reader runs them.
type session struct {
	start string // command that starts a server; empty if none is needed
	tries []try
}

// try is a command that must succeed.
type try struct {
	line string
	want string // pattern of its output
}

// sessions returns the documented commands. The test of the README looks its commands up here.
func sessions() []session {
	return []session{
		{start: "go run ./cmd/ashlar", tries: []try{
			{"go run ./cmd/ratelimit-client -domain demo -descriptors client=bob", `^allowed: limit 5/minute, `},
			{`curl -i http://127.0.0.1:8080/json --json '{"domain":"demo","descriptors":[{"entries":[{"key":"client","value":"bob"}]}]}'`, `"overallCode":"OK"`},
			{"curl -i http://127.0.0.1:8000/api/books", `^HTTP/1.1 200 `},
		}},
		{start: "go run ./cmd/bookcatalogd -seed", tries: []try{
			{"curl -i http://localhost:8000/api/books", `^HTTP/1.1 200 `},
		}},
		{start: "go run ./cmd/inventoryd -demo", tries: []try{
			{"curl -i http://localhost:3000/healthz", `^HTTP/1.1 200 `},
		}},
		{start: "go run ./examples/mux", tries: []try{
			{`curl -i -X POST 'http://127.0.0.1:8082/login?user=ann'`, `(?i)RateLimit-Limit: 3\r`},
		}},
		{start: "go run ./examples/grpcserver", tries: []try{
			{"go run ./cmd/ratelimit-client -dial_string 127.0.0.1:8083 -domain shop -descriptors user=ann", `^allowed: limit 3/`},
		}},
		{start: "go run ./examples/manifest-upload", tries: []try{
			{"curl -i http://127.0.0.1:8084/manifests --data-binary @manifest/testdata/examples/local.json", `^HTTP/1.1 200 `},
			{`curl -i http://127.0.0.1:8084/manifests -d '{"name":"com.example/weather","version":"^1.4.2"}'`, `(?s)^HTTP/1.1 422 .*"rule":"version-range".*"line":1,"column":41`},
		}},
		{start: "go run ./cmd/manifest serve manifest/testdata/examples/local.json", tries: []try{
			{"curl http://127.0.0.1:8787/v0.1/servers?search=weather", `"name":"com.example/weather"`},
			{"go run ./cmd/manifest validate -from http://127.0.0.1:8787 com.example/weather", `(?m)^1 manifest`},
		}},
		{tries: []try{
			{"go run ./cmd/manifest validate manifest/testdata/examples/*.json", `(?m)^3 manifests: `},
			{"WEATHER_API_KEY=wk-123 go run ./cmd/manifest resolve manifest/testdata/examples/local.json -set city=Rome -set WEATHER_API_KEY", `(?m)^  WEATHER_API_KEY='\*\*\*'$`},
			{"go run ./cmd/manifest sync -check manifest/testdata/project/server.json", `agree with it`},
			{"go run ./cmd/manifest bump -n minor manifest/testdata/project/server.json", `(?m)^\+  "version": "1.5.0"`},
			{"go run ./cmd/manifest publish-check manifest/testdata/project/server.json", `ready to publish, checked offline`},
			{"go run ./cmd/manifest resolve -inputs manifest/testdata/examples/local.json", `(?m)^WEATHER_API_KEY \(string, required, secret\)`},
			{"go run ./cmd/manifest client -for vscode -dry-run -set city=Rome manifest/testdata/examples/local.json", `(?m)^\+        "WEATHER_API_KEY": "\$\{input:weather-api-key\}"`},
			{"go run ./cmd/manifest client -for codex -dry-run -remote 0 -set workspace=acme -set region=eu manifest/testdata/examples/remote.json", `(?m)^\+bearer_token_env_var = "TICKETS_TOKEN"`},
			{"go run ./examples/manifest-launch", `"who" is required and has no value`}, // the standard input is empty
			{"go run ./examples/limiter", `^ann: welcome, 2 left\n`},
			{"go run ./cmd/inventoryd -settings", `(?m)^RATE_LIMIT -rate-limit +100 +requests per minute`},
			{"go run ./cmd/inventoryctl --help", `(?m)^  apply +Make the inventory what files say`},
			{"go run ./cmd/ratelimitd -settings", `(?m)^GRPC_PORT +8081 +port of the gRPC listener`},
			{"go run ./cmd/ratelimitd -print-settings", `(?m)^BACKEND_TYPE +embedded +default$`},
			{"go run ./cmd/ratelimit-check ./cmd/ratelimit-check/testdata/replay/limits.yaml -replay cmd/ratelimit-check/testdata/replay/access.log", `(?m)^10 requests: 4 would have been refused`},
			{"go run ./cmd/ratelimit-check ./cmd/ashlar/sample -explain demo client=alice", `(?m)^  result: 50 requests per minute`},
		}},
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, s := range sessions() {
		t.Run(s.start, func(t *testing.T) {
			t.Parallel()
			at := func(line string) string { return line }
			if s.start != "" {
				w := startServer(t, s.start)
				defer w.stop()
				at = w.at
			}
			for _, try := range s.tries {
				if out, ok := shell(t, at(try.line)); ok {
					require.Regexp(t, try.want, out, "%s", try.line)
				}
			}
		})
	}
}

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
		"inventoryd":      {{"3000", "-addr 127.0.0.1:0 -database-url :memory: -devices 100", `http://([0-9.:]+), records in `}},
		"manifest":        {{"8787", "-addr 127.0.0.1:0", `API +http://([0-9.:]+)/v0.1/servers\n`}},
		"bookcatalogd":    {{"8000", "-addr 127.0.0.1:0", `http://([0-9.:]+)/api/books, `}},
		"mux":             {{"8082", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"manifest-upload": {{"8084", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"grpcserver":      {{"8083", "-addr 127.0.0.1:0", `listening on ([0-9.:]+);`}},

		"bookcatalog-mount": {{"8001", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"bookcatalog-store": {{"8002", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"inventory-mount":   {{"8003", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"inventory-extend":  {{"8006", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"inventory-limit":   {{"8004", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"api-keys":          {{"8007", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
		"everything":        {{"8005", "-addr 127.0.0.1:0", `listening on http://([0-9.:]+);`}},
	}
}

// listening is a server that has printed its addresses.
type listening struct {
	*process
	addrs map[string]string // by the port in the documentation
}

// startServer starts a server with a documented command, but on free ports.
func startServer(t *testing.T, command string) *listening {
	t.Helper()
	words := strings.Fields(strings.TrimPrefix(command, "go run "))
	name, args := path.Base(words[0]), words[1:]
	for _, a := range addresses()[name] {
		args = append(args, strings.Fields(a.flags)...)
	}
	dir := checkout
	switch name {
	case "ashlar":
		args = append(args, "-data", filepath.Join(t.TempDir(), "data"), "-devices", "20")
	case "bookcatalog-store":
		dir = t.TempDir() // the example writes a file
	}
	w := &listening{process: startIn(t, dir, nil, name, args...), addrs: map[string]string{}}
	printed := w.stdout
	if name == "bookcatalogd" || name == "inventoryd" {
		printed = w.stderr
	}
	for _, a := range addresses()[name] {
		w.addrs[a.port] = w.waitFor(printed, a.where)[1]
	}
	return w
}

// at replaces the documented addresses in a command with those of the server.
func (w *listening) at(line string) string {
	if strings.Contains(line, "/ratelimit-client ") && !strings.Contains(line, "-dial_string") {
		line += " -dial_string localhost:8081" // the client's default
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
