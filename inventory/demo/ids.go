package demo

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// ids makes UUIDs of version 7 (RFC 9562, 5.7) for times of its caller's choice, which those
// of a library don't take. They rise with the time and, within a millisecond, with
// each of them, but for one in 4,096: there the count begins again.
type ids struct {
	random *rand.ChaCha8
	count  uint64
}

func newIDs() *ids {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails
	return &ids{random: rand.NewChaCha8(seed)}
}

func (s *ids) next(at time.Time) string {
	var id uuid.UUID
	s.count++
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|s.count&0xfff)
	binary.BigEndian.PutUint64(id[8:], s.random.Uint64())
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
