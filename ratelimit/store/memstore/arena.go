package memstore

import "sync/atomic"

const (
	minChunk  = 256
	maxChunk  = 1 << 16
	maxChunks = 256
	// chunkOverhead is what a chunk costs beside its bytes.
	chunkOverhead = 48
)

// arena keeps the ends of long keys, one after the other, in chunks without
// pointers. It grows under the lock of its shard and is read without: a chunk
// never moves, and what is in it never changes.
//
// A place in it is the chunk's index in the upper 8 bits of a ref, and the offset in
// the lower 24.
type arena struct {
	chunks [maxChunks / 32]atomic.Pointer[[32][]byte]
	n      int // chunks in use; the last is being filled
	next   int // where in it the next one goes
	bytes  int // what all chunks cost
}

func (a *arena) chunk(i int) []byte { return a.chunks[i/32].Load()[i%32] }

// fits reports whether there is room for n bytes.
func (a *arena) fits(n int) bool {
	return n == 0 || a.n > 0 && a.next+n <= len(a.chunk(a.n-1))
}

// step is the size of the chunk to add: an eighth of what is there already, so that
// little lies idle in small arenas and large ones alike, and 0 if there can be no
// more.
func (a *arena) step(n int) int {
	if a.n == maxChunks {
		return 0
	}
	return max(min(a.bytes/8, 1<<24), minChunk, n)
}

// extend adds a chunk and starts to fill it.
func (a *arena) extend(size int) {
	if a.n%32 == 0 {
		a.chunks[a.n/32].Store(new([32][]byte))
		a.bytes += 32 * 24
	}
	a.chunks[a.n/32].Load()[a.n%32] = make([]byte, size)
	a.n, a.next = a.n+1, 0
	a.bytes += size + chunkOverhead
}

// put stores b where fits found room.
func (a *arena) put(b []byte) uint32 {
	copy(a.chunk(a.n - 1)[a.next:], b)
	ref := uint32(a.n-1)<<24 | uint32(a.next)
	a.next += len(b)
	return ref
}

// at is the n bytes that ref leads to.
func (a *arena) at(ref uint32, n int) []byte {
	return a.chunk(int(ref >> 24))[ref&(1<<24-1):][:n]
}
