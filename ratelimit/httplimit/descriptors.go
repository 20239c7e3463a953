package httplimit

import "github.com/ashlar-go/ashlar/ratelimit"

// Descriptors is where a request is described for PerRequest. It must not be used
// after the function that it was handed to has returned: its memory serves the
// next request.
type Descriptors struct {
	list    []ratelimit.Descriptor
	entries []ratelimit.Entry // of all of list, one after the other
}

// Add adds a descriptor with these entries, copied. What it returns may be changed,
// to give the descriptor a limit or a number of hits of its own, until the next
// Add.
func (d *Descriptors) Add(entries ...ratelimit.Entry) *ratelimit.Descriptor {
	// When the entries move to larger memory, the earlier descriptors stay where
	// they are, on the old.
	start := len(d.entries)
	d.entries = append(d.entries, entries...)
	end := len(d.entries)
	d.list = append(d.list, ratelimit.Descriptor{Entries: d.entries[start:end:end]})
	return &d.list[len(d.list)-1]
}

// What a request of many descriptors made grow is not kept for the others.
const (
	keepDescriptors = 64
	keepEntries     = 512
)

// reset empties d. The strings of the request are let go.
func (d *Descriptors) reset() {
	clear(d.list)
	clear(d.entries)
	d.list, d.entries = d.list[:0], d.entries[:0]
	if cap(d.list) > keepDescriptors || cap(d.entries) > keepEntries {
		*d = Descriptors{}
	}
}
