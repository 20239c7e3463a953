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

// CheckSRV exposes checkSRV for fuzzing.
func CheckSRV(record string) error { return checkSRV(record) }

// ParseValue exposes parseValue for fuzzing.
func ParseValue(value []byte) (uint64, error) { return parseValue(value) }

// Expiry exposes expiry, whose results in 2038 no server can show yet.
func Expiry(ttl time.Duration, now time.Time) int32 { return expiry(ttl, now) }

// WaitingCharges returns the number of charges that wait for an exchange.
func (s *Store) WaitingCharges() (n int) {
	for _, q := range s.allQueues() {
		q.mu.Lock()
		n += q.charges
		q.mu.Unlock()
	}
	return n
}

// ParseState and AppendState expose functions for fuzzing.
var (
	ParseState  = parseState
	AppendState = appendState
)
