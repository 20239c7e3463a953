package redisstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// scriptedServer connects to a server with scripted replies, for situations that are hard
// to create with real ones. An empty reply stands for an error, and "close" for none: the
// server reads what it was sent and closes the connection.
func scriptedServer(reply func(command string) string) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		for r := bufio.NewReader(theirs); ; {
			command, err := readCommand(r)
			if err != nil {
				return
			}
			text := reply(command)
			switch text {
			case "close":
				return
			case "":
				text = "-ERR unknown command"
			}
			if _, err := io.WriteString(theirs, text+"\r\n"); err != nil {
				return
			}
		}
	}()
	return ours
}

// readCommand returns the words of a command, separated by spaces.
func readCommand(r *bufio.Reader) (string, error) {
	count, err := readNumber(r, '*')
	if err != nil {
		return "", err
	}
	words := make([]string, count)
	for i := range words {
		n, err := readNumber(r, '$')
		if err != nil {
			return "", err
		}
		word := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(r, word); err != nil {
			return "", err
		}
		words[i] = string(word[:n])
	}
	return strings.Join(words, " "), nil
}

func readNumber(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || line[0] != kind {
		return 0, fmt.Errorf("the line %q: %w", line, err)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// bulk encodes a list of strings.
func bulk(texts ...string) string {
	list := fmt.Sprintf("*%d", len(texts))
	for _, text := range texts {
		list += fmt.Sprintf("\r\n$%d\r\n%s", len(text), text)
	}
	return list
}

// TestMasterChangesUnnoticed changes the master before the store has asked a sentinel for
// the first time since it connected. The old master continues to accept writes, so no reply
// shows the change.
func TestMasterChangesUnnoticed(t *testing.T) {
	t.Parallel()
	before, after := redistest.Start(t, nil), redistest.Start(t, nil)
	var master atomic.Pointer[redistest.Server]
	master.Store(before)
	store, err := redisstore.NewSentinel("main", []string{"sentinel:1"}, &redisstore.Options{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != "sentinel:1" {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			return scriptedServer(func(command string) string {
				switch command {
				case "ping":
					return "+PONG"
				case "sentinel get-master-addr-by-name main":
					host, port, _ := net.SplitHostPort(master.Load().Addr)
					return bulk(host, port)
				}
				return ""
			}), nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	h := hit(uniqueName(), 1)
	require.EqualValues(t, 1, add(t, store, h))
	master.Store(after)
	client := after.Client()
	require.Eventually(t, func() bool {
		return store.Add(t.Context(), []ratelimit.Hit{h}) == nil && client.Exists(t.Context(), string(h.Key)).Val() == 1
	}, testTimeout, 20*time.Millisecond, "calls go to the new master")
}

// TestIncompleteRedirectAddress covers redirections by servers that do not know their own
// address, and by those with an IPv6 address.
func TestIncompleteRedirectAddress(t *testing.T) {
	server := redistest.Start(t, nil)
	for _, addr := range []string{":7002", "?:7002", "::1:7002", "[::1]:7002"} {
		t.Run(addr, func(t *testing.T) {
			var queries atomic.Int32
			node := func(command string) string {
				switch word, _, _ := strings.Cut(command, " "); word {
				case "ping":
					return "+PONG"
				case "cluster": // slots: the next reply includes the move
					owner := 7001 + min(queries.Add(1)-1, 1)
					return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$0\r\n\r\n:%d\r\n$2\r\nid", owner)
				case "set", "incrby", "pexpire":
					return "-MOVED 1 " + addr
				}
				return ""
			}
			store, err := redisstore.NewCluster([]string{"[::1]:7001"}, &redisstore.Options{
				Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					switch addr {
					case "[::1]:7001":
						return scriptedServer(node), nil
					case "[::1]:7002":
						return new(net.Dialer).DialContext(ctx, network, server.Addr)
					}
					return nil, fmt.Errorf("no server at %q", addr)
				},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			require.EqualValues(t, 1, add(t, store, hit(uniqueName(), 1)))
		})
	}
}

// TestCounterLostWhileSlotMoves loses a counter that has an expiry on the server that is
// importing its slot: the expiry is set again, with ASKING before it.
func TestCounterLostWhileSlotMoves(t *testing.T) {
	var mu sync.Mutex
	var commands []string
	old := func(command string) string {
		switch word, _, _ := strings.Cut(command, " "); word {
		case "ping":
			return "+PONG"
		case "cluster": // slots: the other server has only the last
			return "*2\r\n*3\r\n:0\r\n:16382\r\n*3\r\n$3\r\nold\r\n:1\r\n$1\r\nx\r\n" +
				"*3\r\n:16383\r\n:16383\r\n*3\r\n$3\r\nnew\r\n:1\r\n$1\r\ny"
		case "set", "incrby", "pexpire":
			return "-ASK 1 new:1"
		}
		return ""
	}
	charging := func(command string) string {
		mu.Lock()
		defer mu.Unlock()
		word, _, _ := strings.Cut(command, " ")
		switch word {
		case "ping":
			return "+PONG"
		case "asking", "set":
			commands = append(commands, word)
			return "+OK"
		case "incrby", "pexpire":
			commands = append(commands, word)
			return ":1"
		}
		return ""
	}
	store, err := redisstore.NewCluster([]string{"old:1"}, &redisstore.Options{
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			return scriptedServer(map[string]func(string) string{"old:1": old, "new:1": charging}[addr]), nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	h := hit("lost", 1)
	h.Key = []byte("lost")
	for range 2 { // connections are opened
		require.EqualValues(t, 1, add(t, store, h))
	}
	mu.Lock()
	commands = nil
	mu.Unlock()
	require.EqualValues(t, 1, add(t, store, h))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"asking", "incrby", "asking", "pexpire"}, commands)
}

// TestProxy uses a server that knows the commands of the reference service only, and
// closes connections on HELLO and MULTI, as twemproxy does.
func TestProxy(t *testing.T) {
	counters := make(map[string]int64)
	var expiries atomic.Int32
	proxy := func(command string) string {
		words := strings.Split(command, " ")
		switch words[0] {
		case "hello", "multi", "eval", "evalsha":
			t.Errorf("%s was sent", words[0])
		case "ping":
			return "+PONG"
		case "incrby":
			n, _ := strconv.ParseInt(words[2], 10, 64)
			counters[words[1]] += n
			return fmt.Sprintf(":%d", counters[words[1]])
		case "expire":
			expiries.Add(1)
			return ":1"
		case "get":
			text := strconv.FormatInt(counters[words[1]], 10)
			return fmt.Sprintf("$%d\r\n%s", len(text), text)
		}
		return ""
	}
	opts := oneConnection()
	opts.Dial = func(context.Context, string, string) (net.Conn, error) { return scriptedServer(proxy), nil }
	store := open(t, "proxy:1", opts)
	h := hit(uniqueName(), 60)
	for want := uint64(60); want <= 180; want += 60 {
		require.Equal(t, want, add(t, store, h))
	}
	require.EqualValues(t, 2, expiries.Load(), "once, and again after a connection was opened")

	testConditional(t, store, false)
}

// TestScriptsAfterReset has the connection break on which the store looks for a proxy: it must
// not treat the server as one for good, on which AddUnlessOver is not supported.
func TestScriptsAfterReset(t *testing.T) {
	var waits, scripts atomic.Int32
	opts := oneConnection()
	opts.Dial = func(context.Context, string, string) (net.Conn, error) {
		return scriptedServer(func(command string) string {
			switch word, _, _ := strings.Cut(command, " "); word {
			case "ping":
				return "+PONG"
			case "wait":
				if waits.Add(1) == 1 {
					return "close"
				}
				return ":0"
			case "evalsha":
				scripts.Add(1)
				return bulk("1")
			}
			return ""
		}), nil
	}
	store := open(t, "server:1", opts)
	require.NoError(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{hit(uniqueName(), 1)}))
	require.EqualValues(t, 1, scripts.Load())
}

// TestCrossSlot uses one address in front of a cluster, where a script can't have keys of several
// servers.
func TestCrossSlot(t *testing.T) {
	counters := make(map[string]int64)
	opts := oneConnection()
	opts.Dial = func(context.Context, string, string) (net.Conn, error) {
		return scriptedServer(func(command string) string {
			words := strings.Split(command, " ")
			switch words[0] {
			case "ping", "set":
				return "+OK"
			case "wait":
				return ":0"
			case "evalsha":
				return "-CROSSSLOT Keys in request don't hash to the same slot"
			case "incrby":
				n, _ := strconv.ParseInt(words[2], 10, 64)
				counters[words[1]] += n
				return fmt.Sprintf(":%d", counters[words[1]])
			case "pexpire":
				return ":1"
			case "get":
				text := strconv.FormatInt(counters[words[1]], 10)
				return fmt.Sprintf("$%d\r\n%s", len(text), text)
			}
			return ""
		}), nil
	}
	store := open(t, "cluster-proxy:1", opts)
	hits := []ratelimit.Hit{hit("a", 1), hit("b", 1)}
	require.ErrorIs(t, store.AddUnlessOver(t.Context(), hits), errors.ErrUnsupported)
	require.Empty(t, counters)
}

// TestClusterCountsOnce breaks the connection to a server of a cluster between its first
// reply, which is one that the library would try again, and the others.
func TestClusterCountsOnce(t *testing.T) {
	for what, reply := range map[string]string{"broken connection": "close", "retryable reply": "-TRYAGAIN later"} {
		t.Run(what, func(t *testing.T) {
			var added atomic.Int32
			server := func(command string) string {
				switch word, _, _ := strings.Cut(command, " "); word {
				case "cluster":
					return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$6\r\nserver\r\n:1\r\n$1\r\nx"
				case "set":
					return reply
				case "incrby":
					return fmt.Sprintf(":%d", added.Add(1))
				case "pexpire":
					return ":1"
				case "evalsha":
					if strings.Contains(command, "first") {
						return reply
					}
					return fmt.Sprintf("*3\r\n:1\r\n:%d\r\n:0", added.Add(1))
				}
				return ""
			}
			store, err := redisstore.NewCluster([]string{"server:1"}, &redisstore.Options{
				Dial: func(context.Context, string, string) (net.Conn, error) { return scriptedServer(server), nil },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			err = store.Add(t.Context(), []ratelimit.Hit{hit(uniqueName(), 1)})
			require.Equal(t, reply == "close", err != nil)
			require.LessOrEqual(t, added.Load(), int32(1))
			added.Store(0)
			require.Error(t, charger{store}.Add(t.Context(), []ratelimit.Hit{hit("first", 1), hit("second", 1)}))
			require.LessOrEqual(t, added.Load(), int32(1))
		})
	}
}
