package server

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// remote is a connection from an address.
type remote struct {
	net.Conn
	address string
}

// RemoteAddr implements net.Conn.
func (r remote) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(r.address), Port: 1}
}

// Which connection is closed for a new one when there are too many. A call that waits has
// sent its header and not its message; one that is busy has sent both.
func TestDispensable(t *testing.T) {
	const many, few, none = "10.0.0.1", "10.0.0.2", "10.0.0.3"
	type open struct {
		address string
		call    string
	}
	for name, c := range map[string]struct {
		open   []open
		from   string
		closed int // of open; -1 refuses the new one
	}{
		"idle ones of a newcomer are safe from those with more": {[]open{{few, ""}, {many, "waits"}, {many, "waits"}}, many, -1},
		"the address with the most makes room":                  {[]open{{few, ""}, {many, "waits"}, {many, "waits"}}, none, 1},
		"idle before waiting":                                   {[]open{{many, "waits"}, {many, ""}, {few, ""}}, none, 1},
		"one's own idle one":                                    {[]open{{few, ""}, {few, "busy"}, {many, ""}}, many, 0},
		"the last waiting one of an address is safe":            {[]open{{few, "waits"}, {many, "waits"}, {"10.0.0.4", "waits"}}, none, -1},
		"the last idle one of an address makes room":            {[]open{{few, "waits"}, {many, "waits"}, {"10.0.0.4", ""}}, none, 2},
		"busy ones are safe":                                    {[]open{{many, "busy"}, {many, "busy"}, {few, "waits"}}, none, -1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newConnections(nil, connectionLimits{connections: len(c.open), perAddress: 10, bytes: 1 << 30, messageTimeout: time.Hour},
				stats.New(nil), slog.New(slog.DiscardHandler))
			admit := func(address string) *connection {
				conn, other := net.Pipe()
				t.Cleanup(func() { other.Close() })
				return l.admit(remote{conn, address})
			}
			var conns []*connection
			for _, o := range c.open {
				l.now.Add(1) // so the first is unused for longest
				conn := admit(o.address)
				if o.call != "" {
					conn.count(http2.FrameHeader{Type: http2.FrameHeaders, StreamID: 1, Length: 10}, 0)
				}
				if o.call == "busy" {
					conn.count(http2.FrameHeader{Type: http2.FrameData, StreamID: 1, Length: 10, Flags: http2.FlagDataEndStream}, 0)
				}
				conns = append(conns, conn)
			}
			admitted := admit(c.from)
			closed := -1
			for i, conn := range conns {
				if _, ok := l.open[conn]; !ok {
					require.Equal(t, -1, closed, "several were closed")
					closed = i
				}
			}
			require.Equal(t, c.closed, closed)
			require.Equal(t, c.closed >= 0, admitted != nil)
		})
	}
}
