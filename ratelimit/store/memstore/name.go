package memstore

import (
	"crypto/sha256"
	"hash/maphash"
)

const (
	// maxKey is the longest key that is kept as it is, in bytes.
	maxKey = 512
	// digested in a name's mark tells a digest from a key of the same bytes.
	digested = 1 << 15
)

// name is what tells one counter of a window from another.
type name struct {
	key  []byte // at most maxKey bytes, the caller's or a digest
	sum  uint64 // seeded hash: the low half is the tag, the high bits choose the shard
	mark uint16 // len(key), and digested
}

// tag is never 0.
func (k name) tag() uint32 { return uint32(k.sum) | 1 }

// tail is how many bytes of the key find no room in a cell.
func (k name) tail() int { return max(len(k.key)-headSize, 0) }

// name is for keys of up to maxKey bytes.
func (s *Store) name(key []byte) name {
	return name{key, maphash.Bytes(s.seed, key), uint16(len(key))}
}

// longName gives a longer key its digest, kept in buf, so that a client who chooses
// what is in a key cannot choose how much memory it takes.
func (s *Store) longName(key []byte, buf *[sha256.Size]byte) name {
	*buf = sha256.Sum256(key)
	k := s.name(buf[:])
	k.mark |= digested
	return k
}
