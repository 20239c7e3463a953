package redisstore_test

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// A peer that is no Redis, or lies, makes calls fail and takes no memory.
func TestLyingPeer(t *testing.T) {
	for name, reply := range map[string]string{
		"a string of 2 GB":       "$2147483647\r\n",
		"an array of 268435455":  "*268435455\r\n",
		"a string in an array":   "*2\r\n:1\r\n$1073741824\r\n",
		"arrays within arrays":   strings.Repeat("*1\r\n", 200_000),
		"arrays beside arrays":   "*60000\r\n" + strings.Repeat("*60000\r\n", 1000),
		"a line without an end":  "+" + strings.Repeat("x", 8<<20),
		"a number without end":   "$" + strings.Repeat("1", 8<<20),
		"many strings in one":    "*60000\r\n" + strings.Repeat("$1000\r\n"+strings.Repeat("x", 1000)+"\r\n", 9000),
		"a web server":           "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
		"PostgreSQL":             "E\x00\x00\x00\x88SFATAL\x00",
		"no number":              "$many\r\n",
		"a map of the new form":  "%268435455\r\n",
		"a verbatim string":      "=2147483647\r\n",
		"an error without bound": "!2147483647\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			sent := []byte(reply)
			go func() {
				for {
					c, err := listener.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						_, _ = c.Read(make([]byte, 4096))
						_, _ = c.Write(sent)
						_, _ = c.Read(make([]byte, 4096))
					}()
				}
			}()
			store, err := redisstore.New(listener.Addr().String(), &redisstore.Options{PoolSize: 1, Timeout: time.Second})
			require.NoError(t, err)
			defer store.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 3 {
				err := store.Add(t.Context(), []ratelimit.Hit{{Key: []byte("k"), N: 1, Unit: ratelimit.Second, Limit: 1}})
				require.Error(t, err)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}
