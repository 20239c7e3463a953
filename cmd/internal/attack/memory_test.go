//go:build linux && !race

package attack_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

const (
	dataLimit = 512 << 20       // bytes of private memory of a server under attack, enforced by the kernel
	goLimit   = "320MiB"        // GOMEMLIMIT, below it
	goGC      = "100"           // GOGC, the default: that of the tests is higher
	client    = "127.0.0.2"     // the normal client; the attackers have other addresses
	longest   = time.Second     // for a normal request
	pause     = 2 * time.Second // before an attacker connects again: the attacks are on memory, not on the processor
	plain     = "Accept-Encoding: identity"

	attackVariable = "ASHLAR_ATTACKS" // makes this test program the attacker: a JSON array of assaults
	lengthVariable = "ASHLAR_ATTACK_LENGTH"
)

// assault is an attack with its numbers. Fields that its kind does not need are zero.
type assault struct {
	Name       string
	Kind       string
	Target     target
	Path       string
	Headers    []string
	Streams    int // on each connection, or requests
	Size       int // of a message, a header, a body or a value
	Frame      int
	References int
	Message    []byte
}

func (a *assault) run(ctx context.Context) (result, error) {
	switch a.Kind {
	case "half bodies":
		return halfBodies(ctx, &a.Target, a.Path, a.Size, a.Headers...)
	case "half headers":
		return halfHeaders(ctx, &a.Target, a.Size)
	case "slow readers":
		return slowReaders(ctx, &a.Target, a.Path, a.Streams, a.Headers...)
	case "half messages":
		return halfMessages(ctx, &a.Target, a.Streams, a.Size, a.Frame)
	case "header bombs":
		return headerBombs(ctx, &a.Target, a.Streams, a.References, a.Size)
	case "rapid resets", "continuations", "settings", "pings":
		return flood(ctx, &a.Target, a.Kind)
	case "unread calls":
		return unreadCalls(ctx, &a.Target, a.Streams, a.Message)
	}
	return result{}, fmt.Errorf("unknown attack %q", a.Kind)
}

func TestMain(m *testing.M) {
	if list := os.Getenv(attackVariable); list != "" {
		if err := attackAll(list, os.Getenv(lengthVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	scaletest.Only("TestNothingToAttack", "TestBounds", "TestMessageTimeout", "TestConnectionLimits", "TestBytesInFlight")
	os.Exit(m.Run())
}

// attackAll runs all attacks at once and prints their results. It fails if none could connect: one
// of many may find the queue of new connections full of those of the others.
func attackAll(list, length string) error {
	var attacks []*assault
	if err := json.Unmarshal([]byte(list), &attacks); err != nil {
		return err
	}
	d, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	errs := make([]error, len(attacks))
	var group sync.WaitGroup
	for i, a := range attacks {
		group.Go(func() {
			var achieved result
			achieved, errs[i] = a.run(ctx)
			fmt.Printf("%s: %v %v\n", a.Name, achieved, errs[i])
		})
	}
	group.Wait()
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
}

// survive runs each attack, and then all together, while a normal client sends requests. Each of
// these must succeed in time, and the server must not end. An attack takes as long as it needs to
// send everything once, or a twentieth of ASHLAR_SOAK.
func survive(t *testing.T, p *servertest.Process, normal func(context.Context) error, attacks []assault) {
	t.Helper()
	length := max(1500*time.Millisecond, scaletest.Soak(t)/20)
	for _, a := range attacks {
		t.Run(a.Name, func(t *testing.T) { withstand(t, p, normal, length, a) })
	}
	t.Run("all together", func(t *testing.T) { withstand(t, p, normal, 3*length, attacks...) })
}

// withstand checks that a normal client is served during attacks. It repeats them once if a request
// was late, because the machine may have been busy, but not if the server has ended.
func withstand(t *testing.T, p *servertest.Process, normal func(context.Context) error, length time.Duration, attacks ...assault) {
	t.Helper()
	report, err := serveDuring(t, normal, length, attacks)
	if err != nil {
		t.Logf("once more: %v; peak of the resident memory so far: %s", err, peakMemory(t, p))
		report, err = serveDuring(t, normal, length, attacks)
	}
	require.NoError(t, err)
	t.Logf("%s; peak of the resident memory so far: %s", report, peakMemory(t, p))
}

// serveDuring attacks from another process with the lowest priority, because real attackers do not
// use the processors of the server. It returns an error if a normal request fails or is late.
func serveDuring(t *testing.T, normal func(context.Context) error, length time.Duration, attacks []assault) (report string, err error) {
	t.Helper()
	list, err := json.Marshal(attacks)
	require.NoError(t, err)
	attacker := exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0])
	attacker.Env = append(os.Environ(), attackVariable+"="+string(list), lengthVariable+"="+length.String())
	var output bytes.Buffer
	attacker.Stdout, attacker.Stderr = &output, &output
	require.NoError(t, attacker.Start())
	ended := make(chan error, 1)
	go func() { ended <- attacker.Wait() }()

	for requests, slowest := 1, time.Duration(0); ; requests++ {
		start := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), longest)
		err := normal(ctx)
		stop()
		took := time.Since(start)
		if err != nil {
			_ = attacker.Process.Kill()
			<-ended
			return "", fmt.Errorf("normal request %d, after %v: %w", requests, took, err)
		}
		slowest = max(slowest, took)
		select {
		case err := <-ended:
			require.NoError(t, err, "%s", &output)
			return fmt.Sprintf("%s%d normal requests, the slowest took %v", &output, requests, slowest.Round(time.Millisecond)), nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startLimited starts a program under the memory limit. env and args may use the port.
func startLimited(t *testing.T, program string, ready func(context.Context, string) error, env, args func(port string) []string) *servertest.Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the end of the log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return servertest.StartWith(t, "prlimit", func(port string) []string {
		return slices.Concat([]string{fmt.Sprintf("--data=%d", dataLimit), "env", "GOMEMLIMIT=" + goLimit, "GOGC=" + goGC}, env(port), []string{program}, args(port))
	}, ready, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = log, log })
}

func peakMemory(t *testing.T, p *servertest.Process) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(t, err, "the server has ended")
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(kib)
		}
	}
	return "unknown"
}

// fromClient dials as the normal client.
func fromClient(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
	return d.DialContext(ctx, network, addr)
}

// send sends a request on a connection of its own and requires status 200.
func send(ctx context.Context, method, url, body string, headers ...string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: fromClient, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.200s", res.Status, text)
	}
	return text, err
}

// TestMemory attacks each server under a data limit of 512 MiB. None may end, and a normal client
// gets its responses within a second throughout.
func TestMemory(t *testing.T) {
	servertest.Find(t, "prlimit")
	dir, err := servertest.Build("../../..", nil, "./cmd/inventoryd", "./cmd/ratelimitd", "./cmd/bookcatalogd") // without the race detector, whose memory does not fit the limit
	require.NoError(t, err)
	for name, attacked := range map[string]func(t *testing.T, program string){
		"inventoryd": attackInventory, "ratelimitd": attackRateLimit, "bookcatalogd": attackBooks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attacked(t, filepath.Join(dir, name))
		})
	}
}

// three returns a target with connections from three addresses, one from a single one.
func three(addr string, connections int) target {
	return target{Addr: addr, Connections: connections, From: []string{"127.0.0.3", "127.0.0.4", "127.0.0.5"}, Pause: pause}
}

func one(addr string, connections int) target {
	return target{Addr: addr, Connections: connections, From: []string{"127.0.0.3"}, Pause: pause}
}

func none(string) []string { return nil }

// httpAttacks are those that every HTTP server must withstand.
func httpAttacks(addr, path string) []assault {
	return []assault{
		{Name: "300 bodies of 1 MiB", Kind: "half bodies", Target: three(addr, 300), Path: path, Size: 1 << 20},
		{Name: "3,000 headers of 60 KB from one address", Kind: "half headers", Target: one(addr, 3000), Size: 60_000},
		{Name: "1,500 headers of 15 KB from three addresses", Kind: "half headers", Target: three(addr, 1500), Size: 15_000},
	}
}

func attackInventory(t *testing.T, program string) {
	const password = "correct horse 9"
	database := filepath.Join(t.TempDir(), "inventory.db")
	p := startLimited(t, program, func(ctx context.Context, addr string) error {
		_, err := send(ctx, "GET", "http://"+addr+"/healthz", "")
		return err
	}, func(string) []string {
		return []string{"DATABASE_URL=" + database, "ADMIN_PASSWORD=" + password, "RATE_LIMIT=100000", "LOG_LEVEL=warn"}
	}, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port, "-demo", "-devices", "2000"} })
	text, err := send(t.Context(), "POST", "http://"+p.Addr+"/users/login", `{"username":"admin","password":"`+password+`"}`)
	require.NoError(t, err)
	found := regexp.MustCompile(`"token":"([^"]+)"`).FindSubmatch(text)
	require.NotNil(t, found, "%s", text)
	token := "Authorization: Bearer " + string(found[1])

	survive(t, p, func(ctx context.Context) error {
		_, err := send(ctx, "GET", "http://"+p.Addr+"/devices?limit=5", "", token)
		return err
	}, append(
		httpAttacks(p.Addr, "/devices"),
		assault{Name: "300 bodies of 1 MiB to log in", Kind: "half bodies", Target: three(p.Addr, 300), Path: "/users/login", Size: 1 << 20},
		assault{Name: "300 bodies of 1 MiB from a user", Kind: "half bodies", Target: three(p.Addr, 300), Path: "/devices", Size: 1<<20 - 1000, Headers: []string{token}},
		assault{Name: "60 slow readers", Kind: "slow readers", Target: three(p.Addr, 60), Path: "/interfaces?limit=100", Streams: 100, Headers: []string{plain, token}},
		assault{Name: "60 slow readers of the topology", Kind: "slow readers", Target: three(p.Addr, 60), Path: "/topology?limit=10000", Streams: 100, Headers: []string{plain, token}},
	))
}

// TestFloods sends floods of frames to each server of HTTP/2 under the limit of memory: none may end, and a normal client
// gets its responses within a second. The operator sees connections that the server has closed, and used processors.
func TestFloods(t *testing.T) {
	servertest.Find(t, "prlimit")
	dir, err := servertest.Build("../../..", nil, "./cmd/inventoryd", "./cmd/ratelimitd")
	require.NoError(t, err)
	t.Run("inventoryd", func(t *testing.T) {
		cert, key := certstest.NewAuthority(t).Write(t.TempDir(), "server", "127.0.0.1")
		healthy := func(ctx context.Context, addr string) error {
			_, err := send(ctx, "GET", "https://"+addr+"/healthz", "")
			return err
		}
		p := startLimited(t, filepath.Join(dir, "inventoryd"), healthy, func(string) []string {
			return []string{"DATABASE_URL=" + filepath.Join(t.TempDir(), "inventory.db"), "ADMIN_PASSWORD=correct horse 9", "TLS_CERT=" + cert, "TLS_KEY=" + key, "LOG_LEVEL=error"}
		}, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} })
		at := three(p.Addr, 6)
		at.TLS = true
		survive(t, p, func(ctx context.Context) error { return healthy(ctx, p.Addr) }, floods(at))
	})
	t.Run("ratelimitd", func(t *testing.T) {
		p, normal, _, _ := startRateLimit(t, filepath.Join(dir, "ratelimitd"))
		survive(t, p, normal, floods(three(p.Addr, 6)))
	})
}

// startRateLimit starts ratelimitd, and returns what its normal client does, the address of HTTP, and a request.
func startRateLimit(t *testing.T, program string) (p *servertest.Process, normal func(context.Context) error, httpAddr string, message []byte) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "config"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "config", "shop.yaml"),
		[]byte("domain: shop\ndescriptors:\n- key: client\n  rate_limit: {unit: day, requests_per_unit: 1000000}\n"), 0o600))
	httpAddr = "127.0.0.1:" + servertest.FreePort(t)
	request := &ratelimitv3.RateLimitRequest{Domain: "shop", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "client", Value: "ann"}}},
	}}
	var err error
	message, err = proto.Marshal(request)
	require.NoError(t, err)
	call := func(ctx context.Context, addr string) error {
		conn, err := grpc.NewClient("passthrough:"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return fromClient(ctx, "tcp", addr) }))
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, request, grpc.WaitForReady(true))
		return err
	}
	p = startLimited(t, program, call, func(port string) []string {
		_, httpPort, _ := net.SplitHostPort(httpAddr)
		return []string{
			"RUNTIME_ROOT=" + root, "BACKEND_TYPE=embedded", "GRPC_HOST=127.0.0.1", "GRPC_PORT=" + port, "HOST=127.0.0.1", "PORT=" + httpPort,
			"DEBUG_HOST=127.0.0.1", "DEBUG_PORT=0", "DISABLE_STATS=true", "LOG_LEVEL=warn",
		}
	}, none)

	return p, func(ctx context.Context) error {
		if err := call(ctx, p.Addr); err != nil {
			return fmt.Errorf("gRPC: %w", err)
		}
		_, err := send(ctx, "POST", "http://"+httpAddr+"/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"client","value":"ann"}]}]}`)
		return err
	}, httpAddr, message
}

func attackRateLimit(t *testing.T, program string) {
	p, normal, httpAddr, message := startRateLimit(t, program)
	survive(t, p, normal, append(
		httpAttacks(httpAddr, "/json"),
		assault{Name: "100 messages of 4 MiB", Kind: "half messages", Target: three(p.Addr, 10), Streams: 10, Size: 4 << 20},
		assault{Name: "3,000 messages of 256 KiB", Kind: "half messages", Target: three(p.Addr, 100), Streams: 30, Size: 256<<10 - 100},
		assault{Name: "1,000 messages in small frames", Kind: "half messages", Target: three(p.Addr, 10), Streams: 100, Size: 64 << 10, Frame: 100},
		assault{Name: "3,000 messages in frames that waste buffers", Kind: "half messages", Target: three(p.Addr, 10), Streams: 300, Size: 256<<10 - 100, Frame: 1025},
		assault{Name: "1,203 streams of references to a large header", Kind: "header bombs", Target: three(p.Addr, 3), Streams: 401, References: 5_000, Size: 3_000},
		assault{Name: "3,000 headers below the limit", Kind: "header bombs", Target: three(p.Addr, 10), Streams: 300, References: 400, Size: 1},
		assault{Name: "10,000 calls whose responses are not read", Kind: "unread calls", Target: three(p.Addr, 100), Streams: 100, Message: message},
		assault{Name: "5,000 gRPC connections", Kind: "unread calls", Target: three(p.Addr, 5000), Streams: 1},
	))
}

func attackBooks(t *testing.T, program string) {
	p := startLimited(t, program, func(ctx context.Context, addr string) error {
		_, err := send(ctx, "GET", "http://"+addr+"/api/books?limit=1", "")
		return err
	}, none, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} })
	long := strings.Repeat("𝕏", 100) // 400 bytes
	author := fmt.Sprintf(`{"id":%q,"firstname":%q,"lastname":%q}`, long, long, long)
	large := fmt.Sprintf(`{"isbn":"","title":"large","authors":[%s],"subjects":[%s]}`,
		strings.Repeat(author+",", 49)+author, strings.Repeat(strconv.Quote(long)+",", 49)+strconv.Quote(long))
	for range 300 { // 24 MB; a list is 8 MB
		_, err := send(t.Context(), "POST", "http://"+p.Addr+"/api/books", large)
		require.NoError(t, err)
	}
	survive(t, p, func(ctx context.Context) error {
		_, err := send(ctx, "GET", "http://"+p.Addr+"/api/books?limit=1", "")
		return err
	}, append(
		httpAttacks(p.Addr, "/api/books"),
		assault{Name: "20 slow readers", Kind: "slow readers", Target: one(p.Addr, 20), Path: "/api/books", Streams: 100, Headers: []string{plain}},
		assault{Name: "100 slow readers", Kind: "slow readers", Target: three(p.Addr, 100), Path: "/api/books?limit=100", Streams: 100, Headers: []string{plain}},
	))
}
