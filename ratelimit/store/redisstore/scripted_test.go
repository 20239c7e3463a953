package redisstore_test

import (
	"bufio"
	"context"
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

// scripted connects to a server that answers each command as it is told, for what
// real ones can't be brought to say. Other commands are errors.
func scripted(answer func(command string) string) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		for r := bufio.NewReader(theirs); ; {
			command, err := readCommand(r)
			if err != nil {
				return
			}
			text := answer(command)
			if text == "" {
				text = "-ERR unknown command"
			}
			if _, err := io.WriteString(theirs, text+"\r\n"); err != nil {
				return
			}
		}
	}()
	return ours
}

// readCommand is the words of a command, with blanks between them.
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

// bulk is texts as the server sends a list of them.
func bulk(texts ...string) string {
	list := fmt.Sprintf("*%d", len(texts))
	for _, text := range texts {
		list += fmt.Sprintf("\r\n$%d\r\n%s", len(text), text)
	}
	return list
}

// TestMasterThatChangesAtTheStart has the master change before a sentinel has been
// looked at for the first time since the store connected. The old master goes on as if
// nothing had happened, so there is no answer that tells.
func TestMasterThatChangesAtTheStart(t *testing.T) {
	t.Parallel()
	before, after := redistest.Start(t, nil), redistest.Start(t, nil)
	var master atomic.Pointer[redistest.Server]
	master.Store(before)
	store, err := redisstore.NewSentinel("main", []string{"sentinel:1"}, &redisstore.Options{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != "sentinel:1" {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			return scripted(func(command string) string {
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
	h := hit(name(), 1)
	require.EqualValues(t, 1, add(t, store, h))
	master.Store(after)
	client := after.Client()
	require.Eventually(t, func() bool {
		return store.Add(t.Context(), []ratelimit.Hit{h}) == nil && client.Exists(t.Context(), string(h.Key)).Val() == 1
	}, forever, 20*time.Millisecond, "calls go to the new master")
}

// TestRedirectionWithoutAFullAddress is about what nodes say that do not know their own
// address, and those with one of IPv6.
func TestRedirectionWithoutAFullAddress(t *testing.T) {
	server := redistest.Start(t, nil)
	for _, addr := range []string{":7002", "?:7002", "::1:7002", "[::1]:7002"} {
		t.Run(addr, func(t *testing.T) {
			var asked atomic.Int32
			node := func(command string) string {
				switch word, _, _ := strings.Cut(command, " "); word {
				case "ping":
					return "+PONG"
				case "cluster": // slots: the next answer knows of the move
					owner := 7001 + min(asked.Add(1)-1, 1)
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
						return scripted(node), nil
					case "[::1]:7002":
						return new(net.Dialer).DialContext(ctx, network, server.Addr)
					}
					return nil, fmt.Errorf("nobody is at %q", addr)
				},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			require.EqualValues(t, 1, add(t, store, hit(name(), 1)))
		})
	}
}

// TestCounterThatWasLostWhileItsSlotMoves has the node that is taking the slot over lose
// a counter that has an expiry: it is asked for another, and does that only when told that
// it is meant.
func TestCounterThatWasLostWhileItsSlotMoves(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	old := func(command string) string {
		switch word, _, _ := strings.Cut(command, " "); word {
		case "ping":
			return "+PONG"
		case "cluster": // slots: the other has only the last
			return "*2\r\n*3\r\n:0\r\n:16382\r\n*3\r\n$3\r\nold\r\n:1\r\n$1\r\nx\r\n" +
				"*3\r\n:16383\r\n:16383\r\n*3\r\n$3\r\nnew\r\n:1\r\n$1\r\ny"
		case "set", "incrby", "pexpire":
			return "-ASK 1 new:1"
		}
		return ""
	}
	taking := func(command string) string {
		mu.Lock()
		defer mu.Unlock()
		word, _, _ := strings.Cut(command, " ")
		switch word {
		case "ping":
			return "+PONG"
		case "asking", "set":
			heard = append(heard, word)
			return "+OK"
		case "incrby", "pexpire":
			heard = append(heard, word)
			return ":1"
		}
		return ""
	}
	store, err := redisstore.NewCluster([]string{"old:1"}, &redisstore.Options{
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			return scripted(map[string]func(string) string{"old:1": old, "new:1": taking}[addr]), nil
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
	heard = nil
	mu.Unlock()
	require.EqualValues(t, 1, add(t, store, h))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"asking", "incrby", "asking", "pexpire"}, heard)
}
