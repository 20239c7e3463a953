package httpx_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

// store is a service that reads JSON, behind the standard chain with a budget.
func store(budget *httpx.Budget) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", text("ok"))
	mux.Handle("POST /", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		v, err := httpx.ReadJSON[map[string]string](r)
		if err != nil {
			return err
		}
		return httpx.WriteJSON(w, 201, len(v["a"]))
	}))
	return httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler), Budget: budget})(httpx.Mux(mux))
}

// post sends a JSON document of about size bytes.
func post(client *http.Client, url string, size int) (int, http.Header, error) {
	response, err := client.Post(url, "application/json", strings.NewReader(`{"a":"`+strings.Repeat("x", size)+`"}`))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header, err
}

// halfPost opens a connection and sends a body of JSON without its last byte.
func halfPost(t *testing.T, url, addr string, size int) net.Conn {
	t.Helper()
	header := fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	return hold(t, url, addr, header+`{"a":"`+strings.Repeat("x", size-len(`{"a":"`)-1))
}

// awaitUsed waits until a condition on the bytes in use holds.
func awaitUsed(t *testing.T, budget *httpx.Budget, what string, holds func(int64) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !holds(budget.Used()) {
		if ctx.Err() != nil {
			t.Fatalf("%d bytes are in use, want %s", budget.Used(), what)
		}
		runtime.Gosched()
	}
}

// TestHalfBodies sends 300 bodies of 1 MiB without their last byte from 3 addresses. The memory
// is bounded, and other clients and those of the same addresses are served.
func TestHalfBodies(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: size})
	r := start(t, store(budget), &httpx.ServeOptions{ReadTimeout: time.Hour})
	clients := []*http.Client{from(t, "127.0.0.9"), from(t, "127.0.0.2")}
	var conns []net.Conn
	for i := range 300 {
		conns = append(conns, halfPost(t, r.url, "127.0.0."+string(rune('2'+i%3)), 1<<20-100))
		if used := budget.Used(); used > size {
			t.Fatalf("%d bytes are in use, the budget is %d", used, size)
		}
		if i%30 != 29 {
			continue
		}
		for _, client := range clients {
			if body, err := get(client, r.url); body != "ok" {
				t.Fatalf("GET after %d half bodies: %q, %v", i+1, body, err)
			}
			if status, _, err := post(client, r.url, 100_000); status != 201 {
				t.Fatalf("POST after %d half bodies: %d, %v", i+1, status, err)
			}
		}
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	awaitUsed(t, budget, "0", func(n int64) bool { return n == 0 })
}

// TestHalfBodiesOfHTTP2 does the same with the streams of one connection.
func TestHalfBodiesOfHTTP2(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: size})
	config, client := testTLS(t)
	r := start(t, store(budget), &httpx.ServeOptions{ReadTimeout: time.Hour, TLS: config})
	url := strings.Replace(r.url, "http://", "https://", 1)
	ctx, cancel := context.WithCancel(t.Context())
	var halves sync.WaitGroup
	defer halves.Wait()
	defer cancel()
	attacker, other := client("127.0.0.2"), client("127.0.0.9")
	for range 50 {
		reader, writer := io.Pipe()
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, reader)
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Content-Type", "application/json")
		halves.Go(func() {
			if response, err := attacker.Do(post); err == nil {
				_ = response.Body.Close()
			}
			_ = reader.Close()
		})
		halves.Go(func() { _, _ = io.WriteString(writer, `{"a":"`+strings.Repeat("x", 400_000)) })
	}
	awaitUsed(t, budget, "a third of the budget", func(n int64) bool { return n > size/3 })
	for range 10 {
		if body, err := get(other, url); body != "ok" {
			t.Fatalf("GET: %q, %v", body, err)
		}
		if status, _, err := post(other, url, 100_000); status != 201 {
			t.Fatalf("POST: %d, %v", status, err)
		}
	}
	if used := budget.Used(); used > size {
		t.Errorf("%d bytes are in use, the budget is %d", used, size)
	}
}

// testTLS returns a configuration for a server, and a function that returns clients by address.
func testTLS(t *testing.T) (config *tls.Config, client func(addr string) *http.Client) {
	borrowed := httptest.NewTLSServer(nil) // for its certificate, and a client that trusts it
	borrowed.Close()
	config = &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	return config, func(addr string) *http.Client {
		transport := borrowed.Client().Transport.(*http.Transport).Clone()
		transport.ForceAttemptHTTP2 = true
		transport.DialContext = dialerFrom(addr).DialContext
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: patience}
	}
}

// TestBudgetUsedUp checks the response when the budget is used up by requests that do not wait for
// their client, and that the end of a request releases everything.
func TestBudgetUsedUp(t *testing.T) {
	t.Parallel()
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: 1 << 20})
	began, finish := make(chan struct{}), make(chan struct{})
	h := httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler), Budget: budget})(httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/hold" {
			if err := httpx.Reserve(r.Context(), 500_000); err != nil {
				return err
			}
			began <- struct{}{}
			<-finish
			return nil
		}
		_, err := httpx.ReadBody(r, 0)
		return err
	}))
	r := start(t, h, nil)
	done := make(chan error, 1)
	go func() {
		_, err := get(from(t, "127.0.0.2"), r.url+"/hold")
		done <- err
	}()
	<-began
	if status, header, err := post(from(t, "127.0.0.2"), r.url, 10_000); status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("the same client, which has used its half: %d %v, %v; want 503 with Retry-After", status, header, err)
	}
	if status, _, err := post(from(t, "127.0.0.3"), r.url, 10_000); status != 200 {
		t.Errorf("another client: %d, %v", status, err)
	}
	if status, _, err := post(from(t, "127.0.0.3"), r.url, 1<<19); status != 503 {
		t.Errorf("another client with a body of half the budget: %d, %v; want 503", status, err)
	}
	close(finish)
	if err := <-done; err != nil {
		t.Error(err)
	}
	awaitUsed(t, budget, "0", func(n int64) bool { return n == 0 })
}

// TestSlowReadersOfJSON checks that responses that wait for their clients count, and are ended for
// a client that uses less.
func TestSlowReadersOfJSON(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: 4 * size, BytesPerClient: 4 * size})
	large := strings.Repeat("x", size)
	h := httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler), Budget: budget})(httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return httpx.WriteJSON(w, 200, large)
	}))
	r := start(t, h, &httpx.ServeOptions{WriteStallTimeout: time.Hour, WriteTimeout: time.Hour})
	for range 8 {
		hold(t, r.url, "127.0.0.2", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	awaitUsed(t, budget, "a response", func(n int64) bool { return n > size })
	for range 3 {
		if body, err := get(from(t, "127.0.0.3"), r.url); len(body) != size+3 {
			t.Errorf("a client that reads got %d bytes, %v", len(body), err)
		}
	}
	if used := budget.Used(); used > 4*size {
		t.Errorf("%d bytes are in use", used)
	}
}

// TestNestedBudgets checks that a request counts once.
func TestNestedBudgets(t *testing.T) {
	t.Parallel()
	outer, inner := httpx.NewBudget(nil), httpx.NewBudget(nil)
	h := outer.Middleware(nil)(inner.Middleware(nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if outer.Used() == 0 || inner.Used() != 0 {
			t.Errorf("in use: %d and %d, want all in the outer budget", outer.Used(), inner.Used())
		}
	})))
	serve(h, request("GET", "/", ""))
	if outer.Used() != 0 {
		t.Errorf("%d bytes are in use after the request", outer.Used())
	}
}

// TestBudgetOfNetworks checks that the addresses of an IPv6 subscriber share what one client may use.
func TestBudgetOfNetworks(t *testing.T) {
	t.Parallel()
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: 1 << 20})
	reserve := func(addr string, then func()) int {
		h := budget.Middleware(nil)(httpx.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
			if err := httpx.Reserve(r.Context(), 400_000); err != nil {
				return err
			}
			then()
			return nil
		}))
		r := request("GET", "/", "")
		r.RemoteAddr = addr
		return serve(h, r).Code
	}
	if got := reserve("[2001:db8:1:2::1]:5", func() {
		if got := reserve("[2001:db8:1:2:ffff::9]:6", func() {}); got != 503 {
			t.Errorf("another address of the network: %d, want 503", got)
		}
		if got := reserve("[2001:db8:1:3::1]:6", func() {}); got != 200 {
			t.Errorf("an address of another network: %d, want 200", got)
		}
	}); got != 200 {
		t.Errorf("the first request: %d, want 200", got)
	}
}

// TestLargeHeaders checks that headers count: HTTP/2 can repeat a long value in one byte.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	budget := httpx.NewBudget(nil)
	h := budget.Middleware(nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if budget.Used() < 16<<10+2*10_000 {
			t.Errorf("a request with a header of 10,000 bytes uses %d", budget.Used())
		}
	}))
	serve(h, request("GET", "/", "", "X-Long", strings.Repeat("x", 10_000)))
}

// TestReadBodyTwice checks that middleware can read a body that the handler reads again, and that
// it counts once.
func TestReadBodyTwice(t *testing.T) {
	t.Parallel()
	budget := httpx.NewBudget(nil)
	h := budget.Middleware(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		first, err := httpx.ReadBody(r, 0)
		used := budget.Used()
		second, again := httpx.ReadBody(r, 0)
		if err != nil || again != nil || string(first) != "hello" || string(second) != "hello" || budget.Used() != used {
			t.Errorf("%q, %v and %q, %v; %d and %d bytes in use", first, err, second, again, used, budget.Used())
		}
		if _, err := httpx.ReadBody(r, 3); err == nil {
			t.Error("the second limit is ignored")
		}
		if rest, err := io.ReadAll(r.Body); string(rest) != "hello" {
			t.Errorf("the copy is %q, %v", rest, err)
		}
	}))
	serve(h, request("POST", "/", "hello"))
}

// TestBodyInTime checks the response to a body that does not arrive.
func TestBodyInTime(t *testing.T) {
	t.Parallel()
	r := start(t, store(nil), &httpx.ServeOptions{ReadTimeout: 50 * time.Millisecond})
	conn := halfPost(t, r.url, "127.0.0.2", 1000)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%v, %v; want 408", response, err)
	}
}

// TestDecodeCost measures the memory in use while documents are decoded that take the most for
// their size, and compares it with what is reserved.
func TestDecodeCost(t *testing.T) {
	for name, document := range map[string]string{
		"numbers":    "[" + strings.Repeat("0,", 45_000) + "0]",
		"arrays":     "[" + strings.Repeat("[],", 45_000) + "[]]",
		"objects":    "[" + strings.Repeat("{},", 45_000) + "{}]",
		"members":    `[` + strings.Repeat(`{"":0},`, 24_000) + "{}]",
		"fields":     `[` + strings.Repeat(`{"a":0,"b":1,"c":2,"d":3,"e":4},`, 8_000) + "{}]",
		"one string": `["` + strings.Repeat("x", 1_000_000) + `"]`,
	} {
		budget := httpx.NewBudget(&httpx.BudgetOptions{BytesPerClient: httpx.Unlimited})
		body := httpx.NewBody[any](nil)
		var kept any
		var reserved int64
		h := budget.Middleware(nil)(httpx.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) (err error) {
			kept, err = body.Read(r)
			reserved = budget.Used()
			return err
		}))
		r := request("POST", "/", document, "Content-Type", "application/json")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if w := serve(h, r); w.Code != 200 {
			t.Errorf("%s: %s", name, w.Body)
		}
		runtime.ReadMemStats(&after)
		total := after.TotalAlloc - before.TotalAlloc
		runtime.GC()
		runtime.ReadMemStats(&after)
		live := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		runtime.KeepAlive(kept)
		t.Logf("%s: %d bytes: allocated %d, kept %d, reserved at the end %d", name, len(document), total, live, reserved)
		if live > reserved {
			t.Errorf("%s: %d bytes are kept, %d reserved", name, live, reserved)
		}
	}
}

// TestRefusedClients checks that clients that a full budget refuses leave nothing behind.
func TestRefusedClients(t *testing.T) {
	h := httpx.NewBudget(&httpx.BudgetOptions{Bytes: 1}).Middleware(nil)(text("ok"))
	r := request("GET", "/", "")
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range 20_000 {
		r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255)
		if w := serve(h, r); w.Code != http.StatusServiceUnavailable {
			t.Fatalf("status %d, want 503", w.Code)
		}
	}
	if grown := heap() - before; grown > 1<<19 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(h)
}
