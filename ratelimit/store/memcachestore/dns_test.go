package memcachestore_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Record types, response codes, and other parts of DNS messages.
const (
	typeA, typeSRV         = 1, 33
	noError, serverFails   = 0, 2
	headerLen, pointName   = 12, 0xc00c // refers to the name in the question
	classInternet, aMinute = 1, 60
)

// dns is a name server with one SRV record, and the address 127.0.0.1 for any other name.
type dns struct {
	mu      sync.Mutex
	queries int
	fails   bool
	targets []target
}

type target struct {
	host string // with a dot at the end
	port int
}

// newDNS starts a name server and returns a resolver that uses it.
func newDNS(t *testing.T, targets ...target) (*dns, *net.Resolver) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dns{targets: targets}
	var running sync.WaitGroup
	running.Go(func() { d.serve(conn) })
	t.Cleanup(func() {
		_ = conn.Close()
		running.Wait()
	})
	return d, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// set changes the record; with no targets the server fails.
func (d *dns) set(targets ...target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.targets, d.fails = targets, len(targets) == 0
}

// lookups returns the number of queries for the record.
func (d *dns) lookups() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queries
}

func (d *dns) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if response := d.respond(buf[:n]); response != nil {
			_, _ = conn.WriteTo(response, from)
		}
	}
}

// resolver returns a resolver that uses the name server without a network: as over TCP, each
// message is preceded by its length.
func (d *dns) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			for length := make([]byte, 2); ; {
				if _, err := io.ReadFull(theirs, length); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(length))
				if _, err := io.ReadFull(theirs, query); err != nil {
					return
				}
				response := d.respond(query)
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(response))), response...)); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
}

// respond returns a message with the header, the question and the records.
func (d *dns) respond(query []byte) []byte {
	end := headerLen
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the end of the name, type and class
	if end > len(query) {
		return nil
	}
	code, records := d.records(binary.BigEndian.Uint16(query[end-4:]))
	m := append([]byte(nil), query[:2]...)
	m = append(m, 0x84, byte(code), 0, 1, 0, byte(len(records)), 0, 0, 0, 0)
	m = append(m, query[headerLen:end]...)
	for _, r := range records {
		m = append(m, r...)
	}
	return m
}

func (d *dns) records(kind uint16) (code int, records [][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch kind {
	case typeA:
		return noError, [][]byte{record(typeA, []byte{127, 0, 0, 1})}
	case typeSRV:
		d.queries++
		if d.fails {
			return serverFails, nil
		}
		for _, t := range d.targets {
			data := binary.BigEndian.AppendUint16([]byte{0, 1, 0, 1}, uint16(t.port))
			records = append(records, record(typeSRV, append(data, packed(t.host)...)))
		}
	}
	return noError, records
}

func record(kind uint16, data []byte) []byte {
	r := binary.BigEndian.AppendUint16(nil, pointName)
	r = binary.BigEndian.AppendUint16(r, kind)
	r = binary.BigEndian.AppendUint16(r, classInternet)
	r = binary.BigEndian.AppendUint32(r, aMinute)
	r = binary.BigEndian.AppendUint16(r, uint16(len(data)))
	return append(r, data...)
}

func packed(name string) (b []byte) {
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label != "" {
			b = append(append(b, byte(len(label))), label...)
		}
	}
	return append(b, 0)
}
