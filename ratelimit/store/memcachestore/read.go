package memcachestore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
)

// maxBatch is about how many keys are read at once.
const maxBatch = 512

// batch is one read, for all calls that were waiting for it.
type batch struct {
	parts []*part
	keys  []string
	lone  [1]*part
}

// read is a goroutine that reads as long as calls wait.
func (l *lane) read() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		b := l.gather()
		l.mu.Unlock()
		l.fetch(b)
		l.mu.Lock()
	}
	l.readers--
	l.change()
}

// gather makes a batch of the calls that wait. A key that several need is read once.
func (l *lane) gather() *batch {
	b := new(batch)
	b.parts = b.lone[:0]
	taken := 0
	for _, p := range l.waiting {
		if len(b.keys) >= maxBatch {
			break
		}
		taken++
		if p.call.left.Load() {
			continue
		}
		b.parts = append(b.parts, p)
		for _, i := range p.hits {
			if c := p.call.items[i].counter; c.batch != b {
				c.batch = b
				b.keys = append(b.keys, c.key)
			}
		}
	}
	n := copy(l.waiting, l.waiting[taken:])
	clear(l.waiting[n:])
	l.waiting = l.waiting[:n]
	return b
}

// fetch reads a batch and hands out what has come.
func (l *lane) fetch(b *batch) {
	if len(b.keys) == 0 {
		return
	}
	found, err := l.get(b.keys)
	for _, p := range b.parts {
		p.err = err
		if err == nil {
			l.fill(p, found)
		}
		p.answered()
	}
}

// values is what a read has found.
type values struct {
	one  *memcache.Item
	many map[string]*memcache.Item
}

func (v *values) of(key string) *memcache.Item {
	if v.many != nil {
		return v.many[key]
	}
	return v.one
}

func (v *values) len() int {
	if v.one != nil {
		return 1
	}
	return len(v.many)
}

func (l *lane) get(keys []string) (found *values, err error) {
	found = new(values)
	err = l.do(whenCut, func() (err error) {
		if len(keys) > 1 {
			found.many, err = l.client.GetMulti(keys)
			return err
		}
		found.one, err = l.client.Get(keys[0])
		return err
	})
	if errors.Is(err, memcache.ErrCacheMiss) {
		err = nil
	}
	l.tally.multiGet.done(err)
	l.tally.keysRequested.Add(uint64(len(keys)))
	if err == nil {
		l.tally.keysFound.Add(uint64(found.len()))
	}
	return found, err
}

// fill gives a part its values.
func (l *lane) fill(p *part, found *values) {
	for _, i := range p.hits {
		it := &p.call.items[i]
		if got := found.of(it.counter.key); got != nil {
			it.value, it.err = l.parse(got.Value)
		}
	}
}

// parse reads a counter. memcached leaves blanks behind a number that has become
// shorter.
func (l *lane) parse(value []byte) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimRight(string(value), " "), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: its node %s holds %d bytes that are none", ErrNotANumber, l.addr, len(value))
	}
	return n, nil
}
