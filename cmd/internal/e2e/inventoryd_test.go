//go:build unix

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const inventoryPassword = "four-words-and-a-number-7"

// inventory is a running inventoryd.
type inventory struct {
	*process
	url   string
	token string
	http  *http.Client
}

// startInventory starts an inventoryd with a database file.
func startInventory(t *testing.T, database string, environ map[string]string, args ...string) *inventory {
	t.Helper()
	return startInventoryFile(t, built("inventoryd"), database, environ, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
}

// startInventoryFile starts the inventoryd in a file.
func startInventoryFile(t *testing.T, file, database string, environ map[string]string, args ...string) *inventory {
	t.Helper()
	return login(launchInventory(t, file, database, environ, args...))
}

// launchInventory starts the inventoryd in a file and does not wait for it.
func launchInventory(t *testing.T, file, database string, environ map[string]string, args ...string) *process {
	t.Helper()
	all := map[string]string{"DATABASE_URL": database, "ADMIN_PASSWORD": inventoryPassword, "RATE_LIMIT": "0", "LOG_LEVEL": "warn"}
	for name, value := range environ {
		all[name] = value
	}
	return startBinary(t, checkout, all, file, args...)
}

// login waits for an inventoryd and logs in.
func login(p *process) *inventory {
	t := p.t
	t.Helper()
	at := p.waitFor(p.stderr, `(?m)^inventoryd: (http://[0-9.:]+), records in (.+); Ctrl-C stops it\n`)
	i := &inventory{process: p, url: at[1], http: &http.Client{Timeout: timeout, Transport: &http.Transport{}}}
	t.Cleanup(i.http.CloseIdleConnections)
	var response struct{ Token string }
	code, body := i.send("POST", "/users/login", `{"username":"admin","password":"`+inventoryPassword+`"}`)
	require.Equal(t, 200, code, body)
	require.NoError(t, json.Unmarshal([]byte(body), &response))
	i.token = response.Token
	return i
}

// send sends one request. The code is 0 if the server does not respond.
func (i *inventory) send(method, path, body string) (code int, content string) {
	request, err := http.NewRequest(method, i.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	if i.token != "" {
		request.Header.Set("Authorization", "Bearer "+i.token)
	}
	response, err := i.http.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// count returns the number of records of a resource.
func (i *inventory) count(resource string) (n int) {
	i.t.Helper()
	code, body := i.send("GET", "/"+resource+"?limit=1", "")
	require.Equal(i.t, 200, code, body)
	found := regexp.MustCompile(`"total_count":(\d+)`).FindStringSubmatch(body)
	require.NotNil(i.t, found, body)
	_, err := fmt.Sscan(found[1], &n)
	require.NoError(i.t, err)
	return n
}

// TestInventoryDemo checks that -demo adds records once and prints its progress. With -short it uses
// -devices, because the default number takes long.
func TestInventoryDemo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	args, devices := []string{"-demo", "-devices", "500"}, 500
	i := startInventory(t, file, nil, args...)
	require.Regexp(t, fmt.Sprintf(`demo: .*\b%d devices`, devices), i.stderr.String())
	for _, resource := range []string{"locations", "devices", "interfaces", "links", "cables"} {
		require.Regexp(t, fmt.Sprintf(`demo: .*\b%d %s\b`, i.count(resource), resource), i.stderr.String())
	}
	require.Positive(t, i.count("events"))
	i.stop()
	again := startInventory(t, file, nil, args...)
	require.Equal(t, devices, again.count("devices"))
	again.stop()
}

// TestInventoryKilled kills the program during bulk writes. Acknowledged calls must be stored; other
// calls must be stored completely or not at all.
func TestInventoryKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	const size = 50
	answered, calls := map[string]bool{}, 0
	for range 3 {
		i := startInventory(t, file, nil)
		var mu sync.Mutex
		var writers sync.WaitGroup
		enough := make(chan struct{})
		for range 4 {
			writers.Go(func() {
				for {
					mu.Lock()
					calls++
					call := fmt.Sprintf("call-%d", calls)
					mu.Unlock()
					code, _ := i.send("POST", "/locations", bulkLocations(call, size))
					if code == 0 {
						return
					}
					mu.Lock()
					answered[call] = code == http.StatusCreated
					if len(answered)%20 == 0 {
						select {
						case enough <- struct{}{}:
						default:
						}
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		i.signal(syscall.SIGKILL)
		writers.Wait()
		<-i.ended
	}
	i := startInventory(t, file, nil)
	for n := range calls {
		call := fmt.Sprintf("call-%d", n+1)
		_, body := i.send("GET", "/locations?limit=1&city="+call, "")
		total := regexp.MustCompile(`"total_count":(\d+)`).FindStringSubmatch(body)
		require.NotNil(t, total, body)
		if answered[call] {
			require.Equal(t, fmt.Sprint(size), total[1], "%s was acknowledged", call)
		} else {
			require.Contains(t, []string{"0", fmt.Sprint(size)}, total[1], "%s is stored in part", call)
		}
	}
	i.stop()
}

func bulkLocations(call string, size int) string {
	items := make([]string, size)
	for n := range items {
		items[n] = fmt.Sprintf(`{"name":"%s-%d","city":"%s","country":"DE","address":"Allee %d"}`, call, n, call, n)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// TestInventoryBackup makes a backup during writes and starts a server with it.
func TestInventoryBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, copied := filepath.Join(dir, "inventory.db"), filepath.Join(dir, "copy.db")
	i := startInventory(t, file, nil)
	code, body := i.send("POST", "/locations", bulkLocations("before", 10))
	require.Equal(t, 201, code, body)
	p := run(t, 0, "inventoryd", "-database-url", file, "backup", copied)
	require.Equal(t, "copied "+file+" to "+copied+"\n", p.stdout.String())
	code, _ = i.send("POST", "/locations", bulkLocations("after", 10))
	require.Equal(t, 201, code)
	i.stop()
	restored := startInventory(t, copied, nil)
	require.Equal(t, 10, restored.count("locations"))
	restored.stop()
	require.Regexp(t, `(?m)^inventoryd: backup: .*copy\.db`, run(t, 1, "inventoryd", "-database-url", file, "backup", copied).stderr.String())
	require.Regexp(t, `backup.* one argument`, run(t, 2, "inventoryd", "backup").stderr.String())
	require.Regexp(t, `"bakcup"`, run(t, 2, "inventoryd", "bakcup", "x").stderr.String())
}

// TestInventoryAdmin: an admin who is lost gets a new password beside a running server.
func TestInventoryAdmin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	i := startInventory(t, file, nil)
	p := run(t, 0, "inventoryd", "-database-url", file, "admin", "-reset", "ADMIN")
	require.Regexp(t, `^"admin" is an active admin with the password [A-Z2-7]{26}; .*\nit is shown only now, .*\n  curl -X PUT http://localhost:3000/users/`, p.stdout.String())
	code, body := i.send("POST", "/users/login", `{"username":"admin","password":"`+inventoryPassword+`"}`)
	require.Equal(t, 401, code, body)
	require.Regexp(t, `(?m)^inventoryd: admin: there is no user with the name "nobody"`, run(t, 1, "inventoryd", "-database-url", file, "admin", "-reset", "nobody").stderr.String())
	require.Regexp(t, `admin -reset NAME`, run(t, 2, "inventoryd", "-database-url", file, "admin").stderr.String())
	i.stop()
}

// TestInventoryMistakes checks that all invalid settings are reported, and that the error about a port
// in use names the flag.
func TestInventoryMistakes(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]string{"RATE_LIMIT": "many", "JWT_SECRET": "hunter2"}, "inventoryd", "-log-format", "xml")
	require.Equal(t, 2, p.code())
	for _, want := range []string{"RATE_LIMIT: ", "JWT_SECRET: ", "-log-format: "} {
		require.Contains(t, p.stderr.String(), want)
	}
	require.NotContains(t, p.stderr.String(), "hunter2")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p = start(t, map[string]string{"DATABASE_URL": ":memory:", "ADMIN_PASSWORD": inventoryPassword}, "inventoryd", "-addr", l.Addr().String())
	require.Equal(t, 1, p.code())
	require.Regexp(t, `choose another address with -addr`, p.stderr.String())

	file := filepath.Join(t.TempDir(), "inventory.db")
	p = run(t, 2, "inventoryd", "-demo", "-devices", "-5", "-database-url", file)
	require.Regexp(t, `-devices is -5: use a number from 1 to 5000000`, p.stderr.String())
	require.NoFileExists(t, file)

	p = run(t, 0, "inventoryd", "-settings")
	require.Regexp(t, `(?m)^DATABASE_URL -database-url +inventory\.db +`, p.stdout.String())
}

// TestInventoryFinishesOpenRequests begins a request, stops the server, and completes the request after
// the listener is closed.
func TestInventoryFinishesOpenRequests(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	i := startInventory(t, file, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(i.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	body := bulkLocations("late", 3)
	fmt.Fprintf(conn, "POST /locations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", i.token, len(body))
	reader := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line, "the handler must wait for the body")
	}
	i.signal(syscall.SIGTERM)
	eventually(t, "no listener", func() bool { return refuses(conn.RemoteAddr().String()) })
	fmt.Fprint(conn, body)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusCreated, response.StatusCode)
	require.Zero(t, i.code())
	again := startInventory(t, file, nil)
	require.Equal(t, 3, again.count("locations"))
	again.stop()
}

// TestInventoryStops checks that requests during the shutdown succeed or get no response.
func TestInventoryStops(t *testing.T) {
	t.Parallel()
	i := startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), nil)
	var writers sync.WaitGroup
	broken := make(chan string, 100)
	for w := range 4 {
		writers.Go(func() {
			for n := range 1000 {
				code, body := i.send("POST", "/locations", bulkLocations(fmt.Sprintf("w%d-%d", w, n), 20))
				if code == 0 {
					return // the idle connection was closed, or a new one refused
				}
				if code != 201 {
					broken <- fmt.Sprint(code, " ", body)
					return
				}
			}
		})
	}
	eventually(t, "there are records", func() bool { return i.count("locations") > 100 })
	i.stop()
	writers.Wait()
	close(broken)
	for b := range broken {
		t.Error(b)
	}
}
