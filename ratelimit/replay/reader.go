package replay

import (
	"bytes"
	"errors"
	"io"
)

const (
	blockSize = 256 << 10
	// maxLine is the length of the longest line that is read, in bytes.
	maxLine = 1 << 20
)

// blocks splits a log into blocks of whole lines.
type blocks struct {
	r    io.Reader
	buf  []byte
	used int
	skip bool // the rest of an overlong line comes next
	err  error
}

// block is some lines. An overlong line is a block of its own, without text.
type block struct {
	text     string
	overlong bool
}

func newBlocks(r io.Reader) *blocks { return &blocks{r: r, buf: make([]byte, blockSize)} }

// next returns the next block, or io.EOF after the last.
func (b *blocks) next() (block, error) {
	for {
		b.fill()
		if b.skip {
			end := bytes.IndexByte(b.buf[:b.used], '\n')
			if end < 0 && b.err == nil {
				b.used = 0
				continue
			}
			b.drop(max(end+1, 0))
			if end < 0 {
				b.used = 0
			}
			b.skip = false
			continue
		}
		end := bytes.LastIndexByte(b.buf[:b.used], '\n') + 1
		switch {
		case end > 0:
		case b.err != nil && b.used > 0:
			end = b.used
		case b.err != nil:
			return block{}, b.err
		case len(b.buf) >= maxLine:
			b.used, b.skip = 0, true
			return block{overlong: true}, nil
		default:
			b.buf = append(b.buf, make([]byte, len(b.buf))...)
			continue
		}
		text := string(b.buf[:end])
		b.drop(end)
		return block{text: text}, nil
	}
}

// fill reads until the buffer is full or the log has ended.
func (b *blocks) fill() {
	for b.err == nil && b.used < len(b.buf) {
		var n int
		n, b.err = b.r.Read(b.buf[b.used:])
		b.used += n
	}
}

func (b *blocks) drop(n int) {
	copy(b.buf, b.buf[n:b.used])
	b.used -= n
}

// ended reports whether an error is the end of the log.
func ended(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }
