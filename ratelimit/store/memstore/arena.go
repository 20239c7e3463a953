package memstore

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	minChunk  = 512
	maxChunk  = 1 << 16
	maxChunks = 1 << 16
	// chunkOverhead is what a chunk costs beside its bytes: its header, in a list
	// that append may make twice as long as it is.
	chunkOverhead = 48
)

// arena keeps the bytes of keys, one after the other, in chunks without
// pointers. A key is found by its ref: the chunk's index and the offset therein,
// 16 bits each. No key starts at offset 0, so no ref is 0.
type arena struct {
	chunks [][]byte
	fill   int // the chunk that is being filled
	next   int // where in it the next key goes
	bytes  int // what all chunks cost
}

// fits moves on to a chunk that has room for the name, if there is one.
func (a *arena) fits(k name) bool {
	for ; a.fill < len(a.chunks); a.fill++ {
		if a.next+k.stored() <= len(a.chunks[a.fill]) {
			return true
		}
		if a.fill+1 == len(a.chunks) {
			return false
		}
		a.next = 1
	}
	return false
}

// step is the size of the chunk to add when the last is full: a quarter of what
// is there already, so that little lies idle in small arenas and large ones alike.
func (a *arena) step(k name) int {
	quarter := 1 << max(bits.Len(uint(a.bytes/4))-1, 0)
	return max(min(quarter, maxChunk), minChunk, k.stored()+1)
}

// extend adds a chunk and starts to fill it.
func (a *arena) extend(size int) {
	a.fill, a.next = len(a.chunks), 1
	a.chunks = append(a.chunks, make([]byte, size))
	a.bytes += size + chunkOverhead
}

// put stores the name where fits found room.
func (a *arena) put(k name) uint32 {
	b := a.chunks[a.fill][a.next:]
	binary.LittleEndian.PutUint16(b, k.mark)
	copy(b[2:], k.key)
	ref := uint32(a.fill)<<16 | uint32(a.next)
	a.next += k.stored()
	return ref
}

// holds reports whether the name is what ref leads to.
func (a *arena) holds(ref uint32, k name) bool {
	b := a.chunks[ref>>16][ref&0xffff:]
	return binary.LittleEndian.Uint16(b) == k.mark && bytes.Equal(b[2:2+len(k.key)], k.key)
}

// reset forgets all keys and keeps the chunks.
func (a *arena) reset() { a.fill, a.next = 0, 1 }
