package importer_test

import (
	"runtime"
)

// repeated is a reader that repeats a row for ever.
type repeated struct {
	row string
	at  int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		copied := copy(p[n:], r.row[r.at:])
		n, r.at = n+copied, (r.at+copied)%len(r.row)
	}
	return n, nil
}

// heap returns the memory in use in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
