package collect

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gosnmp/gosnmp"
)

// repetitions is the number of values that a GETBULK request asks for.
const repetitions = 25

// valueCost is the memory of a value besides its name and its bytes, about.
const valueCost = 100

// session is a sequence of requests to a device.
type session struct {
	ctx       context.Context // of the device; the requests have no other one
	client    *gosnmp.GoSNMP
	maxRows   int
	valueSize int   // of all values until now
	err       error // the first one; no requests follow
	stop      func() bool
}

// open resolves a host and opens a socket for it. Nothing is sent.
func (c *Collector) open(ctx context.Context, host string, port uint16) (*session, error) {
	client := &gosnmp.GoSNMP{
		Target: host, Port: port, Transport: "udp", Context: ctx,
		Timeout: c.options.Timeout, Retries: c.options.Retries, MaxOids: gosnmp.MaxOids,
	}
	c.credentials.set(client)
	s := &session{ctx: ctx, client: client, maxRows: c.options.MaxRows}
	if err := client.Connect(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	conn := client.Conn
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends a request that waits
	return s, nil
}

func (s *session) close() {
	s.stop()
	_ = s.client.Close() // nothing is to be written
}

// explain returns an error that says what to do.
func (s *session) explain(err error) error {
	o := s.client
	if end, ok := s.ctx.Deadline(); ok && !time.Now().Before(end) {
		<-s.ctx.Done() // the socket may have noticed it first
	}
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case errors.Is(err, gosnmp.ErrMaxRetriesExceeded):
		return fmt.Errorf("no response to %d requests within %v each: check the address, filters on the way, and the credentials", o.Retries+1, o.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("connection refused: no SNMP agent at this port")
	case errors.Is(err, gosnmp.ErrUnknownUsername):
		return errors.New("the device does not know the user")
	case errors.Is(err, gosnmp.ErrDecryption):
		return errors.New("wrong pass phrase or protocol for privacy")
	case errors.Is(err, gosnmp.ErrUnknownSecurityLevel):
		return errors.New("the device refuses the security level: set pass phrases for authentication and privacy as it requires")
	}
	reason, _, _ := strings.Cut(err.Error(), " Stack:") // of a panic that the client caught
	if o.Version == gosnmp.Version3 {
		return fmt.Errorf("invalid response: %s: check the user, the protocols and the pass phrases", reason)
	}
	return fmt.Errorf("invalid response: %s", reason)
}

// request checks the response to a request.
func (s *session) request(send func() (*gosnmp.SnmpPacket, error)) (*gosnmp.SnmpPacket, error) {
	p, err := send()
	switch {
	case err != nil:
		return nil, s.explain(err)
	case s.ctx.Err() != nil:
		return nil, context.Cause(s.ctx)
	case p.PDUType != gosnmp.GetResponse:
		return nil, fmt.Errorf("invalid response: a PDU of the type %#x", byte(p.PDUType))
	case p.Error == gosnmp.NoError && len(p.Variables) == 0:
		return nil, errors.New("invalid response: it has no values")
	}
	return p, nil
}

// get returns the values of objects, by their identifiers.
func (s *session) get(oids ...string) (values map[string]value) {
	if s.err == nil {
		values, s.err = s.objects(oids)
	}
	return values
}

// walk calls row with the values of a column, in the order of their indexes.
func (s *session) walk(c column, row func(index []uint32, v value)) {
	if s.err == nil {
		s.err = s.column(c, row)
	}
}

// objects does what get does.
func (s *session) objects(oids []string) (map[string]value, error) {
	p, err := s.request(func() (*gosnmp.SnmpPacket, error) { return s.client.Get(oids) })
	if err != nil {
		return nil, err
	}
	if p.Error == gosnmp.AuthorizationError || p.Error == gosnmp.NoAccess {
		return nil, errors.New("the device refuses access with these credentials")
	}
	if p.Error != gosnmp.NoError {
		return nil, fmt.Errorf("the device replied %v to a request for %s", p.Error, oids[0])
	}
	values := map[string]value{}
	for _, v := range p.Variables {
		if name := strings.TrimPrefix(v.Name, "."); slices.Contains(oids, name) {
			values[name] = value(v)
		}
	}
	return values, nil
}

// column is a column of a table.
type column struct{ name, oid string }

// column does what walk does.
func (s *session) column(c column, row func(index []uint32, v value)) error {
	next, last, count, atOnce := c.oid, []uint32(nil), 0, uint32(repetitions)
	for {
		p, err := s.request(func() (*gosnmp.SnmpPacket, error) { return s.client.GetBulk([]string{next}, 0, atOnce) })
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", c.name, err)
		case p.Error == gosnmp.TooBig && atOnce > 1:
			atOnce /= 2
			continue
		case p.Error == gosnmp.NoSuchName: // the end, as in SNMPv1
			return nil
		case p.Error != gosnmp.NoError:
			return fmt.Errorf("%s: the device replied %v after %d rows", c.name, p.Error, count)
		}
		for _, v := range p.Variables {
			index, ok := indexOf(v.Name, c.oid)
			if !ok || !value(v).exists() {
				return nil
			}
			if last != nil && slices.Compare(index, last) <= 0 {
				return fmt.Errorf("%s: invalid response: the index does not increase after row %d", c.name, count)
			}
			if count++; count > s.maxRows {
				return fmt.Errorf("%s: more than %d rows", c.name, s.maxRows)
			}
			r := value(v)
			if s.valueSize += valueCost + len(v.Name) + len(r.raw()); s.valueSize > maxValues {
				return fmt.Errorf("%s: the values of the device have more than %d MiB", c.name, maxValues>>20)
			}
			row(index, r)
			last, next = index, v.Name
		}
	}
}

// cells is a column of a table with rows of a type, and sets its value in a row.
type cells[T any] struct {
	column
	set func(row *T, v value)
}

// readTable reads the columns of a table, by the keys of its rows. key returns false for what is no row.
func readTable[K comparable, T any](s *session, columns []cells[T], key func(index []uint32) (K, bool)) map[K]*T {
	rows := map[K]*T{}
	for _, c := range columns {
		s.walk(c.column, func(index []uint32, v value) {
			k, ok := key(index)
			if ok && rows[k] == nil && len(rows) < s.maxRows { // other columns may have other indexes
				rows[k] = new(T)
			}
			if row := rows[k]; ok && row != nil {
				c.set(row, v)
			}
		})
	}
	return rows
}

// onlyIndex is the key of rows with an index of one number.
func onlyIndex(index []uint32) (uint32, bool) { return index[0], len(index) == 1 }

// indexOf returns the numbers of an object identifier after that of a column, or false if it is not one of
// the column.
func indexOf(name, column string) ([]uint32, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "."), column+".")
	if !ok {
		return nil, false
	}
	var index []uint32
	for part := range strings.SplitSeq(rest, ".") {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, false
		}
		index = append(index, uint32(n))
	}
	return index, true
}

// maxText is the maximum length in bytes of a string, as of SnmpAdminString (RFC 3411).
const maxText = 255

// value is a value of a device.
type value gosnmp.SnmpPDU

// exists reports whether the device has the object.
func (v value) exists() bool {
	switch v.Type {
	case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.EndOfMibView, gosnmp.Null:
		return false
	}
	return true
}

// raw returns the bytes of an octet string, at most maxText of them.
func (v value) raw() []byte {
	b, ok := v.Value.([]byte)
	if !ok || v.Type != gosnmp.OctetString {
		return nil
	}
	return b[:min(len(b), maxText)]
}

// text returns an octet string as one line.
func (v value) text() string { return line(v.raw()) }

// line returns bytes as one line of UTF-8 without control characters.
func line(b []byte) string {
	if len(b) == maxText { // a character may have been cut
		for i := 1; i < utf8.UTFMax && i < len(b); i++ {
			if start := len(b) - i; utf8.RuneStart(b[start]) {
				if !utf8.FullRune(b[start:]) {
					b = b[:start]
				}
				break
			}
		}
	}
	s := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), " "))
	return strings.Join(strings.Fields(s), " ")
}

// number returns an integer, or 0.
func (v value) number() int64 {
	switch v.Type {
	case gosnmp.Integer, gosnmp.Gauge32, gosnmp.Uinteger32, gosnmp.Counter32:
		if n := gosnmp.ToBigInt(v.Value); n.IsInt64() {
			return n.Int64()
		}
	}
	return 0
}

// oid returns an object identifier, or "".
func (v value) oid() string {
	s, ok := v.Value.(string)
	if !ok || v.Type != gosnmp.ObjectIdentifier || len(s) > maxText {
		return ""
	}
	return strings.TrimPrefix(s, ".")
}

// mac returns an address of 6 bytes with colons, or "" for none.
func mac(b []byte) string {
	if len(b) != 6 || string(b) == "\x00\x00\x00\x00\x00\x00" {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}

// networkAddress returns an address of a family of IANA: 1 is IPv4, 2 is IPv6.
func networkAddress(family uint32, b []byte) string {
	if family == 1 && len(b) == 4 || family == 2 && len(b) == 16 {
		addr, _ := netip.AddrFromSlice(b)
		return addr.Unmap().String()
	}
	return ""
}
