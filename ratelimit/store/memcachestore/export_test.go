package memcachestore

import (
	"context"
	"net"
	"time"
)

// SetDial replaces the dialer. Connections must implement syscall.Conn.
func (o *Options) SetDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	o.dial = dial
}

// IsSRV reports whether text may be the name of an SRV record.
func IsSRV(text string) bool { return srvName.MatchString(text) }

// ParseValue exposes parseValue for fuzzing.
func ParseValue(value []byte) (uint64, error) { return parseValue(value) }

// Expiry exposes expiry, whose results in 2038 no server can show yet.
func Expiry(ttl time.Duration, now time.Time) int32 { return expiry(ttl, now) }

// WaitingCharges returns the number of charges that wait for an exchange.
func (s *Store) WaitingCharges() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.nodes {
		n += node.waiting
	}
	return n
}

// ParseState and FormatState expose functions for fuzzing.
var (
	ParseState  = parseState
	FormatState = formatState
)
