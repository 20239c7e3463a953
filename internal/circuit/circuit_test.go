package circuit_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

var errDown = errors.New("connection refused")

// server is the server that probes reach.
type server struct {
	down, hangs             atomic.Bool
	probes, running, atOnce atomic.Int32
}

func (s *server) probe(ctx context.Context) error {
	s.probes.Add(1)
	n := s.running.Add(1)
	s.atOnce.Store(max(s.atOnce.Load(), n))
	defer s.running.Add(-1)
	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.down.Load() {
		return errDown
	}
	return nil
}

// run runs a test in a bubble, with a circuit that is closed at its end.
func run(t *testing.T, test func(t *testing.T, s *server, c *circuit.Circuit, totals *circuit.Totals)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, totals := &server{}, &circuit.Totals{}
		c := circuit.New(&circuit.Options{Probe: s.probe, Timeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)}, totals)
		defer c.Close()
		test(t, s, c, totals)
	})
}

// fail reports failed attempts of one moment.
func fail(c *circuit.Circuit, count int) {
	for range count {
		c.Failed(time.Now(), errDown)
	}
	synctest.Wait()
}

// openNow lets attempts fail until the circuit opens.
func openNow(t *testing.T, c *circuit.Circuit) {
	t.Helper()
	begin := time.Now()
	for c.Allow() {
		if time.Since(begin) > time.Second {
			t.Fatal("the circuit does not open")
		}
		fail(c, 10)
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(begin); took < circuit.Evidence || took > circuit.Evidence+20*time.Millisecond {
		t.Errorf("the circuit has opened after %v, want %v", took, circuit.Evidence)
	}
}

// A server to which a new connection works at once keeps its calls, however many attempts fail.
func TestConnectionsThatAreReplaced(t *testing.T) {
	run(t, func(t *testing.T, _ *server, c *circuit.Circuit, totals *circuit.Totals) {
		for range 100 {
			time.Sleep(time.Millisecond) // not the instant of the last probe
			fail(c, 64)
			if !c.Allow() {
				t.Fatal("the circuit is open")
			}
			time.Sleep(50 * time.Millisecond)
		}
		if n := totals.Opened.Load(); n != 0 {
			t.Errorf("the circuit has opened %d times", n)
		}
	})
}

func TestOutage(t *testing.T) {
	run(t, func(t *testing.T, s *server, c *circuit.Circuit, totals *circuit.Totals) {
		for outage := range uint64(5) {
			s.down.Store(true)
			time.Sleep(time.Second)
			openNow(t, c)
			if c.Allow() || totals.Open.Load() != 1 || totals.Opened.Load() != outage+1 || totals.Refused.Load() != 2*(outage+1) {
				t.Errorf("outage %d: %d open, opened %d times, %d refused", outage, totals.Open.Load(), totals.Opened.Load(), totals.Refused.Load())
			}
			before := s.probes.Load()
			time.Sleep(5 * time.Second)
			if n := s.probes.Load() - before; n < 50 || n > 70 {
				t.Errorf("%d probes in 5 seconds, want one every 100 ms, less a quarter at most", n)
			}
			s.down.Store(false)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if !c.Allow() || totals.Open.Load() != 0 {
				t.Errorf("outage %d: the circuit is open 100 ms after the server is back", outage)
			}
		}
	})
}

// Attempts that succeed are counted too: at least half must fail.
func TestShare(t *testing.T) {
	run(t, func(t *testing.T, s *server, c *circuit.Circuit, _ *circuit.Totals) {
		s.down.Store(true) // such as a server that accepts no further connections
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			for range 40 {
				c.Succeeded()
			}
			fail(c, 10)
			if !c.Allow() {
				t.Fatal("the circuit is open while most attempts succeed")
			}
		}
		failing := time.Now()
		for c.Allow() && time.Since(failing) < 5*time.Second {
			fail(c, 100)
			time.Sleep(10 * time.Millisecond)
		}
		if c.Allow() {
			t.Error("the circuit is closed while attempts fail")
		}
		c.Succeeded()
		if !c.Allow() {
			t.Error("the first success does not close the circuit")
		}
	})
}

// A server that accepts connections and does not reply is probed by few connections at once, and
// noticed soon when it replies again.
func TestHangingServer(t *testing.T) {
	run(t, func(t *testing.T, s *server, c *circuit.Circuit, _ *circuit.Totals) {
		s.hangs.Store(true)
		time.Sleep(time.Minute)
		c.Check(time.Second) // probes only, no evidence
		time.Sleep(5 * time.Second)
		if !c.Allow() {
			t.Fatal("the circuit has opened without a failed attempt")
		}
		c.Failed(time.Now().Add(-5*time.Second), errDown)
		time.Sleep(2 * time.Second)
		if c.Allow() {
			t.Fatal("the circuit has not opened")
		}
		for range 20 {
			time.Sleep(time.Second)
			c.Allow() // or the probes would end
		}
		if n := s.atOnce.Load(); n > 8 {
			t.Errorf("%d probes at once", n)
		}
		s.hangs.Store(false)
		time.Sleep(250 * time.Millisecond) // two pauses: in the first, all probes may be in use
		synctest.Wait()
		if !c.Allow() {
			t.Error("the circuit is open 250 ms after the server replies again")
		}
	})
}

// An attempt is no evidence for a time in which others succeeded, nor for that before a probe
// succeeded.
func TestOldFailures(t *testing.T) {
	run(t, func(t *testing.T, s *server, c *circuit.Circuit, _ *circuit.Totals) {
		began := time.Now()
		time.Sleep(10 * time.Second)
		c.Succeeded()
		time.Sleep(time.Millisecond)
		s.down.Store(true)
		for range 10 {
			c.Failed(began, errDown)
		}
		if !c.Allow() {
			t.Error("attempts that hung while others succeeded have opened the circuit")
		}
		s.down.Store(false)
		time.Sleep(time.Second) // a probe succeeds
		before := s.probes.Load()
		for range 10 {
			c.Failed(began, errDown)
		}
		synctest.Wait()
		if s.probes.Load() != before {
			t.Error("attempts from before a successful probe have started probes")
		}
	})
}

// Probes end when nobody calls, and calls are allowed then.
func TestNobodyCalls(t *testing.T) {
	run(t, func(t *testing.T, s *server, c *circuit.Circuit, _ *circuit.Totals) {
		s.down.Store(true)
		openNow(t, c)
		time.Sleep(15 * time.Second)
		before := s.probes.Load()
		time.Sleep(time.Hour)
		if s.probes.Load() != before {
			t.Error("probes go on")
		}
		if !c.Allow() {
			t.Error("the circuit is open, and nothing would close it")
		}
	})
}

// A connection whose first packets are lost is opened by a later attempt.
func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		begin := time.Now()
		conn, err := circuit.DialTLS(t.Context(), nil, "", func(ctx context.Context) (net.Conn, error) {
			if dials.Add(1) < 10 {
				<-ctx.Done() // lost
				return nil, ctx.Err()
			}
			return ours, nil
		})
		if err != nil || conn.Conn != ours || time.Since(begin) != 900*time.Millisecond {
			t.Errorf("connection %v, error %v after %v", conn, err, time.Since(begin))
		}
		_ = conn.Close()
		_, err = circuit.DialTLS(t.Context(), nil, "", func(context.Context) (net.Conn, error) { return nil, errDown })
		if !errors.Is(err, errDown) {
			t.Errorf("error %v, want that of the first attempt at once", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = circuit.DialTLS(ctx, nil, "", func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the end of the context", err)
		}
	})
}
