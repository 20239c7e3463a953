//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mistake is a command of a new user, its exit code, and a pattern of its output.
type mistake struct {
	line string
	code int
	want string
}

// TestMistakes makes the mistakes of new users at the command line. The text says what was wrong and
// what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key.yaml":      "domain: shop\ndescriptors:\n  - key: client\n    rate_limits: {unit: minute, requests_per_unit: 3}\n",
		"unit.yaml":     "domain: shop\ndescriptors:\n  - key: client\n    rate_limit: {unit: minutes, requests_per_unit: 3}\n",
		"tab.yaml":      "domain: shop\ndescriptors:\n\t- key: client\n",
		"good.yaml":     "domain: shop\ndescriptors:\n  - key: client\n    rate_limit: {unit: day, requests_per_unit: 3}\n",
		"server.json":   `{"name":"com.example/weather","descripton":"Weather","version":"latest"}`,
		"locations.csv": "name,site_coed\nVienna,VIE\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, m := range []mistake{
		{"ashlar -devcies 5", 2, `-devcies: did you mean -devices\?`},
		{"ashlar -limits nowhere", 2, `-limits: stat nowhere: no such file`},
		{"ashlar -limits good.yaml", 2, `-limits: good\.yaml is a file: use its directory`},
		{"ashlar -host 192.0.2.1 -data d", 1, `-host: .*192\.0\.2\.1`},
		{"inventoryd imprt locations.csv", 2, `unknown command "imprt": did you mean import\?`},
		{"inventoryd -rate-limt 5", 2, `-rate-limt: did you mean -rate-limit\?`},
		{"DATABASE_URL=postgress://x inventoryd", 2, `DATABASE_URL: unknown database "postgress": use the path of a SQLite file, or postgres://`},
		{"RATE_LIMIT=many inventoryd", 2, `RATE_LIMIT: .*many`},
		{"inventoryd admin -reset admin", 1, `inventory\.db: no such file or directory: name the database of the server`},
		{"inventoryd -database-url x.db import locations.csv", 1, `site_coed.*did you mean site_code\?`},
		{"inventoryctl gett devices", 2, `unknown command "gett": did you mean get\?`},
		{"INVENTORY_URL=http://127.0.0.1:1 INVENTORY_TOKEN=x inventoryctl get devices", 1, `127\.0\.0\.1:1.*connection refused`},
		{"manifest valdate server.json", 2, `unknown command "valdate": did you mean validate\?`},
		{"manifest validate nowhere.json", 2, `nowhere\.json: no such file`},
		{"manifest validate server.json", 1, `(?s)server\.json:1:1: error: .*rename the key "descripton" to "description"`},
		{"manifest client -for vscoed server.json", 2, `unknown program "vscoed": did you mean "vscode"\?`},
		{"ratelimitd -limts x", 2, `-limts: did you mean -limits\?`},
		{"BACKEND_TYPE=embeded ratelimitd", 2, `BACKEND_TYPE: unknown value "embeded": use embedded`},
		{"ratelimit-check key.yaml", 1, `key\.yaml:4:5: error: config error, unknown key 'rate_limits': did you mean 'rate_limit'\?`},
		{"ratelimit-check unit.yaml", 1, `unit\.yaml:4:24: error: invalid rate limit unit 'minutes': did you mean 'minute'\?`},
		{"ratelimit-check tab.yaml", 1, `tab\.yaml:3:1: error: .*indent with spaces, not with tabs`},
		{"ratelimit-check", 2, `nothing to check: pass a directory or file`},
		{"ratelimit-check good.yaml -explain shp client=ann", 0, `shp`},
		{"ratelimit-client -domain demo", 2, `-descriptors is missing: specify at least one, such as -descriptors client=alice`},
		{"ratelimit-client -domian demo", 2, `-domian: did you mean -domain\?`},
		{"ratelimit-client -domain demo -descriptors client", 2, `"client" does not have the form name=value`},
		{"bookcatalogd -sed", 2, `-sed: did you mean -seed\?`},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", m.line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + binaries + ":" + os.Getenv("PATH"), "HOME=" + dir, promptRaces}
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, m.code, cmd.ProcessState.ExitCode(), "%s\n%s", m.line, out)
		assert.Regexp(t, m.want, string(out), m.line)
	}
}

// TestMistakenRequests makes the mistakes of new users with curl.
func TestMistakenRequests(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./cmd/ashlar")
	defer w.stop()
	password := w.waitFor(w.stdout, `its password +(\S+)\n`)[1]
	s := startShell(t, t.TempDir())
	out, _ := s.run(w.at(`A=http://127.0.0.1:3000 L=http://127.0.0.1:8080 B=http://127.0.0.1:8000
TOKEN=$(curl $A/users/login --json '{"username":"admin","password":"'$(cat `+password+`)'"}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
call() { curl --write-out '[%{http_code}]\n' "$@"; }
api() { call --header "Authorization: Bearer $TOKEN" "$@"; }`), true)
	require.Empty(t, out)
	for _, m := range []mistake{
		{`api $A/device`, 404, `No such path: /device: did you mean /devices\?`},
		{`api $A/devices/`, 404, `did you mean /devices\?`},
		{`api $A/api/v1/device`, 404, `No such path: /api/v1/device: did you mean /devices\?`},
		{`api "$A/devices?hostnme=x"`, 400, `hostnme is an unknown query parameter: did you mean hostname\?`},
		{`api "$A/devices?hostname__like=x"`, 400, `hostname__like is an unknown filter: did you mean hostname__contains\?`},
		{`api "$A/devices?sort=hostname"`, 400, `sort is an unknown query parameter: did you mean sortby\?`},
		{`api "$A/devices?sortby=hostnam:desc"`, 400, `did you mean hostname:desc\?`},
		{`api "$A/devices?sortby=hostname"`, 400, `did you mean hostname:asc\?`},
		{`api "$A/devices?status=activ"`, 400, `must be one of active, .*: did you mean active\?`},
		{`api "$A/devices?per_page=5"`, 400, `per_page is an unknown query parameter: did you mean limit\?`},
		{`api $A/devices --json '{"hostnme":"x"}'`, 400, `hostnme is an unknown field: did you mean hostname\?`},
		{`api $A/devices --json '{"hostname":"x","status":"offlin"}'`, 400, `did you mean offline\?`},
		{`api $A/devices --json '{"hostname":"x","ip":"1.2.3"}'`, 400, `must be an IP address such as 192\.0\.2\.1`},
		{`api $A/devices --json '{"hostname":'`, 400, `not JSON at line 1, column 13`},
		{`api $A/devices -d hostname=x`, 415, `Content-Type is application/x-www-form-urlencoded: send application/json`},
		{`api $A/devices --json '{"hostname":"x","location_id":"018c0e5e-ac0e-7093-8b0f-d7c7428a6e23"}'`, 400, `location_id refers to a record of locations that does not exist`},
		{`api $A/devices/7`, 400, `id must be a UUID such as`},
		{`api -X PURGE $A/devices`, 405, `Method PURGE is not allowed here: use DELETE, GET`},
		{`call $A/devices --header "Authorization: $TOKEN"`, 401, `the Authorization header has no scheme, write Authorization: Bearer`},
		{`call $A/devices -u admin:x`, 401, `another scheme than Bearer, write Authorization: Bearer`},
		{`call $A/users/login --json '{"user":"admin","password":"x"}'`, 400, `user.*(use|did you mean) .*username`},
		{`call $L/json --json '{"domian":"demo"}'`, 400, `unknown field "domian": did you mean "domain"\?`},
		{`call $L/json -d '{"domain":"demo"}'`, 400, `descriptor list must not be empty`},
		{`call $B/api/book`, 404, `No such path: /api/book: did you mean /api/books\?`},
		{`call $B/api/books --json '{"titel":"Emma"}'`, 400, `titel: unknown field: did you mean title\?`},
	} {
		out, ok := s.run(w.at(m.line), false)
		require.True(t, ok, m.line)
		assert.Contains(t, out, fmt.Sprintf("[%d]", m.code), m.line)
		assert.Regexp(t, m.want, strings.ReplaceAll(out, `\"`, `"`), m.line)
	}
}
