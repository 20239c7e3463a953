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

// ParseSRV exposes parseSRV for fuzzing.
func ParseSRV(text string) (service, proto, name string, err error) {
	r, err := parseSRV(text)
	if err != nil {
		return "", "", "", err
	}
	return r.service, r.proto, r.name, nil
}

// ParseValue exposes parseValue for fuzzing.
func ParseValue(value []byte) (uint64, error) { return parseValue(value) }

// Expiry exposes expiry, whose results in 2038 no server can show yet.
func Expiry(ttl time.Duration, now time.Time) int32 { return expiry(ttl, now) }

// WaitingJobs returns the number of charges that wait for an exchange.
func (s *Store) WaitingJobs() (n int) {
	for _, q := range s.allQueues() {
		q.mu.Lock()
		n += q.waitingJobs
		q.mu.Unlock()
	}
	return n
}

// ParseState and AppendState expose functions for fuzzing.
var (
	ParseState  = parseState
	AppendState = appendState
)
