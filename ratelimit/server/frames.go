package server

import "encoding/binary"

// Frame types and flags of HTTP/2 (RFC 9113, section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameRSTStream    = 0x3
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	frameHeaderSize   = 9
	clientPrefaceSize = 24 // RFC 9113, section 3.4
)

// frame is the header of an HTTP/2 frame.
type frame struct {
	length int // of the payload
	kind   byte
	flags  byte
	stream uint32
}

func parseFrame(b []byte) frame {
	return frame{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// endOfStream returns an empty DATA frame that ends a stream.
func endOfStream(stream uint32) [frameHeaderSize]byte {
	b := [frameHeaderSize]byte{3: frameData, 4: flagEndStream}
	binary.BigEndian.PutUint32(b[5:], stream)
	return b
}

// ends reports whether the sender's side of the stream ends with the frame.
func (f frame) ends() bool {
	return f.kind == frameRSTStream || (f.kind == frameData || f.kind == frameHeaders) && f.flags&flagEndStream != 0
}

// frames finds the frames in one direction of a connection, in parts of any size.
type frames struct {
	skip    int // what precedes the next frame: the rest of a payload or of the preface
	header  [frameHeaderSize]byte
	have    int  // bytes of header
	inBlock bool // a header block has begun and not ended
}

// next returns the header of the first frame that begins in b, and what follows that header.
// It reports false if none is complete.
func (p *frames) next(b []byte) (f frame, rest []byte, ok bool) {
	if p.skip >= len(b) {
		p.skip -= len(b)
		return frame{}, nil, false
	}
	b = b[p.skip:]
	p.skip = 0
	if p.have == 0 && len(b) >= frameHeaderSize {
		f, rest = parseFrame(b), b[frameHeaderSize:]
	} else {
		n := copy(p.header[p.have:], b)
		if p.have += n; p.have < frameHeaderSize {
			return frame{}, nil, false
		}
		f, rest, p.have = parseFrame(p.header[:]), b[n:], 0
	}
	p.skip = f.length
	if f.kind == frameHeaders || f.kind == frameContinuation {
		p.inBlock = f.flags&flagEndHeaders == 0
	}
	return f, rest, true
}

// between reports whether another frame may be inserted.
func (p *frames) between() bool { return p.skip == 0 && p.have == 0 && !p.inBlock }
