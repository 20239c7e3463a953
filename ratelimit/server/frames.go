package server

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

const (
	frameHeaderSize   = 9 // RFC 9113, section 4.1
	clientPrefaceSize = len(http2.ClientPreface)
)

// parseFrame reads the header of a frame.
func parseFrame(b []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length: uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), Type: http2.FrameType(b[3]), Flags: http2.Flags(b[4]),
		StreamID: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// endOfStream returns an empty DATA frame that ends a stream.
func endOfStream(stream uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{3: byte(http2.FrameData), 4: byte(http2.FlagDataEndStream)}, stream)
}

// ends reports whether the sender's part of the stream ends with the frame.
func ends(f http2.FrameHeader) bool {
	return f.Type == http2.FrameRSTStream || (f.Type == http2.FrameData || f.Type == http2.FrameHeaders) && f.Flags.Has(http2.FlagDataEndStream)
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
func (p *frames) next(b []byte) (f http2.FrameHeader, rest []byte, ok bool) {
	if p.skip >= len(b) {
		p.skip -= len(b)
		return f, nil, false
	}
	b = b[p.skip:]
	p.skip = 0
	if p.have == 0 && len(b) >= frameHeaderSize {
		f, rest = parseFrame(b), b[frameHeaderSize:]
	} else {
		n := copy(p.header[p.have:], b)
		if p.have += n; p.have < frameHeaderSize {
			return f, nil, false
		}
		f, rest, p.have = parseFrame(p.header[:]), b[n:], 0
	}
	p.skip = int(f.Length)
	if f.Type == http2.FrameHeaders || f.Type == http2.FrameContinuation {
		p.inBlock = !f.Flags.Has(http2.FlagHeadersEndHeaders)
	}
	return f, rest, true
}

// between reports whether another frame may be inserted.
func (p *frames) between() bool { return p.skip == 0 && p.have == 0 && !p.inBlock }
