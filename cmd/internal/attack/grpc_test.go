package attack_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// shouldRateLimit is the method that the attacks call.
const shouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

// halfMessages opens gRPC streams, on each of which it sends a message of size bytes without its
// last byte, in DATA frames of at most frame bytes. A frame of 0 means 16 KiB. Small frames cost a
// server more memory than their content.
func halfMessages(ctx context.Context, t *target, streams, size, frame int) (result, error) {
	if frame <= 0 {
		frame = 16 << 10
	}
	return t.run(ctx, func(conn net.Conn, all *counts) {
		c := newH2(conn, all, http2.Setting{})
		defer c.end()
		prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
		left := make(map[uint32]int, streams)
		for i := range streams {
			id := uint32(2*i + 1)
			if c.headers(id, c.requestBlock(), false) != nil || c.data(id, prefix, false) != nil {
				return
			}
			c.reserve(id, len(prefix))
			left[id] = size - 1
		}
		for len(left) > 0 {
			sent := false
			for id := range left {
				n := c.reserve(id, min(left[id], frame))
				if n == 0 {
					continue
				}
				if c.data(id, make([]byte, n), false) != nil {
					return
				}
				sent = true
				if left[id] -= n; left[id] == 0 {
					delete(left, id)
				}
			}
			if !sent && !c.pause() {
				return
			}
		}
		<-c.ended
	})
}

// unreadCalls sends complete gRPC calls and allows the server to send no responses: the flow control
// window of each stream is 0.
func unreadCalls(ctx context.Context, t *target, streams int, message []byte) (result, error) {
	return t.run(ctx, func(conn net.Conn, all *counts) {
		c := newH2(conn, all, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		defer c.end()
		body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
		for i := range streams {
			id := uint32(2*i + 1)
			if c.headers(id, c.requestBlock(), false) != nil || c.data(id, body, true) != nil {
				return
			}
		}
		<-c.ended
	})
}

// headerBombs opens gRPC streams whose header refers references times to one entry of the HPACK
// table, with a value of size bytes, at most 3,000. On the wire a reference is one byte.
func headerBombs(ctx context.Context, t *target, streams, references, size int) (result, error) {
	return t.run(ctx, func(conn net.Conn, all *counts) {
		c := newH2(conn, all, http2.Setting{})
		defer c.end()
		for i := range streams {
			fields := c.requestFields()
			if i == 0 {
				fields = append(fields, hpack.HeaderField{Name: "x-bomb", Value: string(bytes.Repeat([]byte("x"), min(size, 3000)))})
			}
			// The last entry that was added to the table has the number 62 (RFC 7541, section 2.3.3).
			block := append(c.encode(fields), bytes.Repeat([]byte{0x80 | 62}, references)...)
			if c.headers(uint32(2*i+1), block, false) != nil {
				return
			}
		}
		<-c.ended
	})
}

// h2 sends frames on a client connection, without checks.
type h2 struct {
	conn  net.Conn
	all   *counts
	block bytes.Buffer
	hpack *hpack.Encoder
	ended chan struct{} // closed when the server has closed the connection

	write   sync.Mutex
	framer  *http2.Framer
	windows sync.Mutex
	initial int
	window  map[uint32]int // what may be sent, less initial
	update  chan struct{}
}

// newH2 sends the preface and one setting, and reads what the server sends.
func newH2(conn net.Conn, all *counts, setting http2.Setting) *h2 {
	c := &h2{
		conn: conn, all: all, framer: http2.NewFramer(conn, conn), ended: make(chan struct{}),
		initial: 65535, window: map[uint32]int{}, update: make(chan struct{}, 1),
	}
	c.hpack = hpack.NewEncoder(&c.block)
	c.write.Lock()
	_, _ = conn.Write([]byte(http2.ClientPreface))
	if setting.ID == 0 {
		_ = c.framer.WriteSettings()
	} else {
		_ = c.framer.WriteSettings(setting)
	}
	c.write.Unlock()
	go c.read()
	return c
}

// end closes the connection and waits for its reader.
func (c *h2) end() {
	_ = c.conn.Close()
	<-c.ended
}

// read counts refused streams until the connection ends.
func (c *h2) read() {
	defer close(c.ended)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if f.IsAck() {
				continue
			}
			if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
				c.windows.Lock()
				c.initial = int(v)
				c.windows.Unlock()
			}
			c.write.Lock()
			_ = c.framer.WriteSettingsAck()
			c.write.Unlock()
		case *http2.PingFrame:
			if !f.IsAck() {
				c.write.Lock()
				_ = c.framer.WritePing(true, f.Data)
				c.write.Unlock()
			}
		case *http2.WindowUpdateFrame:
			c.windows.Lock()
			c.window[f.StreamID] += int(f.Increment)
			c.windows.Unlock()
			select {
			case c.update <- struct{}{}:
			default:
			}
		case *http2.RSTStreamFrame:
			c.all.refused.Add(1)
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				c.all.refused.Add(1)
			}
		}
	}
}

// reserve reserves up to n bytes of a stream's window.
func (c *h2) reserve(id uint32, n int) int {
	c.windows.Lock()
	defer c.windows.Unlock()
	n = max(min(n, c.initial+c.window[id]), 0)
	c.window[id] -= n
	return n
}

// pause waits for a window to open, and reports false if the connection has ended.
func (c *h2) pause() bool {
	select {
	case <-c.ended:
		return false
	case <-c.update:
	case <-time.After(100 * time.Millisecond):
	}
	return true
}

func (c *h2) requestFields() []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: shouldRateLimit},
		{Name: ":authority", Value: "ratelimit"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}
}

func (c *h2) requestBlock() []byte { return c.encode(c.requestFields()) }

func (c *h2) encode(fields []hpack.HeaderField) []byte {
	c.block.Reset()
	for _, f := range fields {
		_ = c.hpack.WriteField(f)
	}
	return bytes.Clone(c.block.Bytes())
}

// headers sends a header block in frames of 16 KiB.
func (c *h2) headers(id uint32, block []byte, end bool) error {
	const most = 16 << 10
	c.all.streams.Add(1)
	c.write.Lock()
	defer c.write.Unlock()
	first := block[:min(len(block), most)]
	block = block[len(first):]
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: end, EndHeaders: len(block) == 0})
	for len(block) > 0 && err == nil {
		next := block[:min(len(block), most)]
		block = block[len(next):]
		err = c.framer.WriteContinuation(id, len(block) == 0, next)
	}
	return err
}

func (c *h2) data(id uint32, b []byte, end bool) error {
	c.write.Lock()
	defer c.write.Unlock()
	return c.framer.WriteData(id, end, b)
}

// waitClosed waits until ctx ends or the server resets the connection, without reading.
func waitClosed(ctx context.Context, conn net.Conn) {
	probe := time.NewTicker(100 * time.Millisecond)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-probe.C:
		}
		if _, err := conn.Write([]byte("\r\n")); err != nil { // ignored before a request (RFC 9112, section 2.2)
			return
		}
	}
}
