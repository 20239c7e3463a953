package service

import (
	"cmp"
	"strconv"
	"unicode/utf8"
	"unsafe"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Codec returns a codec for a gRPC server that decodes rate limit requests directly into
// the engine's type and encodes responses from its decisions. Other messages, and requests
// with unusual content, use the ordinary codec, so clients see no difference.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

// wireRequest is an incoming request. Other codecs decode into the embedded generated type.
type wireRequest struct {
	ratelimitv3.RateLimitRequest
	service *Service
	call    *call      // from the arrival of the message; a call that waits for it holds little
	decoded bool       // into call
	err     error      // why the request was not decoded
	buffer  mem.Buffer // contains the strings of call; nil or to be freed after the call
}

// free releases the call and the memory of its strings.
func (in *wireRequest) free() {
	if in.call != nil {
		in.service.release(in.call)
	}
	if in.buffer != nil {
		in.buffer.Free()
	}
}

// wireResponse is an encoded response.
type wireResponse []byte

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*wireRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in.call = in.service.call()
	buffer := contiguous(data)
	if in.call.decode(buffer.ReadOnlyData()) {
		in.decoded, in.buffer = true, buffer
		return nil
	}
	in.err = in.call.bounds.check(buffer.ReadOnlyData())
	buffer.Free()
	in.call.reset()
	if in.err != nil {
		return nil // the handler responds with the error
	}
	return c.CodecV2.Unmarshal(data, &in.RateLimitRequest)
}

// maxPooledMessage is the largest message with a buffer of the pool, whose buffers above this
// size have 1 MiB.
const maxPooledMessage = 32 << 10

// contiguous returns the message in one buffer.
func contiguous(data mem.BufferSlice) mem.Buffer {
	if len(data) > 1 && data.Len() > maxPooledMessage {
		return mem.SliceBuffer(data.Materialize())
	}
	return data.MaterializeToBuffer(mem.DefaultBufferPool())
}

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if out, ok := v.(wireResponse); ok {
		return mem.BufferSlice{mem.SliceBuffer(out)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// The decoder supports the fields and wire types that clients send, and singular messages
// only once. It reports false for everything else, and the generated code decodes the
// request: unknown fields, repeated singular messages, wrong types, invalid UTF-8, unknown
// units.

const (
	bytesType  = protowire.BytesType
	varintType = protowire.VarintType
)

// fields reads the fields of an encoded message, one after the other.
type fields struct {
	rest   []byte
	bad    bool // the message is malformed, or has something that the decoder does not support
	num    protowire.Number
	typ    protowire.Type
	bytes  []byte // if typ is bytesType
	varint uint64 // if typ is varintType
}

// next reads a field. It reports false after the last one, and once bad is set.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.bad {
		return false
	}
	num, typ, tag := protowire.ConsumeTag(f.rest)
	if f.bad = tag < 0; f.bad {
		return false
	}
	n, value := 0, f.rest[tag:]
	f.num, f.typ = num, typ
	switch typ {
	case bytesType:
		f.bytes, n = protowire.ConsumeBytes(value)
	case varintType:
		f.varint, n = protowire.ConsumeVarint(value)
	default:
		n = protowire.ConsumeFieldValue(num, typ, value)
	}
	if f.bad = n < 0; f.bad {
		return false
	}
	f.rest = value[n:]
	return true
}

func (f *fields) is(num protowire.Number, typ protowire.Type) bool {
	return f.num == num && f.typ == typ
}

// text stores the field in a string that refers to its memory.
func (f *fields) text(into *string) {
	// #nosec G103 -- nothing changes the message while the request is in use
	*into = unsafe.String(unsafe.SliceData(f.bytes), len(f.bytes))
	f.bad = !utf8.Valid(f.bytes)
}

// decode fills the call's request, whose strings refer to b. If it reports false, the
// request is incomplete.
func (c *call) decode(b []byte) bool {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, bytesType):
			f.text(&c.request.Domain)
		case f.is(2, bytesType) && len(c.request.Descriptors) < c.bounds.maxDescriptors:
			f.bad = !c.decodeDescriptor(f.bytes)
		case f.is(3, varintType):
			c.request.HitsAddend = uint32(f.varint)
		default:
			f.bad = true
		}
	}
	return !f.bad
}

func (c *call) decodeDescriptor(b []byte) bool {
	var d ratelimit.Descriptor
	start := len(c.entries)
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, bytesType) && len(c.entries)-start < c.bounds.maxEntries && len(c.entries) < c.bounds.maxAllEntries:
			f.bad = !c.decodeEntry(f.bytes)
		case f.is(2, bytesType) && d.Limit == nil:
			var requests, unit uint64
			f.bad = !decodeNumbers(f.bytes, &requests, &unit) || unit > 255 || !ratelimit.Unit(unit).Valid()
			d.Limit = c.addOverride(ratelimit.Override{RequestsPerUnit: uint32(requests), Unit: ratelimit.Unit(unit)})
		case f.is(3, bytesType) && d.HitsAddend == nil:
			var hits uint64
			f.bad = !decodeNumbers(f.bytes, &hits)
			d.HitsAddend = c.addHits(hits)
		case f.is(4, varintType):
			d.Refund = protowire.DecodeBool(f.varint)
		default:
			f.bad = true
		}
	}
	d.Entries = c.entries[start:len(c.entries):len(c.entries)]
	c.request.Descriptors = append(c.request.Descriptors, d)
	return !f.bad
}

func (c *call) decodeEntry(b []byte) bool {
	var e ratelimit.Entry
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(1, bytesType):
			f.text(&e.Key)
		case f.is(2, bytesType):
			f.text(&e.Value)
		default:
			f.bad = true
		}
	}
	c.entries = append(c.entries, e)
	return !f.bad
}

// decodeNumbers decodes a message with varint fields 1 to len(into).
func decodeNumbers(b []byte, into ...*uint64) bool {
	f := fields{rest: b}
	for f.next() {
		if f.bad = f.typ != varintType || int(f.num) > len(into); !f.bad {
			*into[f.num-1] = f.varint
		}
	}
	return !f.bad
}

// check returns an error if an encoded request has too many parts to be decoded. It accepts
// malformed requests, which decoding refuses.
func (b bounds) check(request []byte) error {
	descriptors, all := 0, 0
	for f := (fields{rest: request}); f.next(); {
		if !f.is(2, bytesType) {
			continue
		}
		entries := 0
		for d := (fields{rest: f.bytes}); d.next(); {
			if d.is(1, bytesType) {
				entries++
			}
		}
		if err := cmp.Or(b.descriptors(descriptors+1), b.entries(descriptors, entries, all)); err != nil {
			return err
		}
		descriptors, all = descriptors+1, all+entries
	}
	return nil
}

// appendResponse encodes a decision as a RateLimitResponse without dynamic metadata, byte
// for byte like the generated code.
func (s *Service) appendResponse(b []byte, d *ratelimit.Decision) []byte {
	if b == nil {
		b = make([]byte, 0, statusSize*(1+len(d.Statuses)))
	}
	b = appendUint(b, 1, uint64(d.Code))
	for i := range d.Statuses {
		start := len(b)
		b = appendMessage(appendStatus(b, &d.Statuses[i]), start, 2)
	}
	response, request := s.headers(d)
	return appendHeaders(appendHeaders(b, 3, response), 4, request)
}

func appendHeaders(b []byte, num protowire.Number, headers []ratelimit.HeaderField) []byte {
	for _, f := range headers {
		start := len(b)
		b = appendText(b, 1, f.Name)
		var digits [20]byte
		b = protowire.AppendTag(b, 2, bytesType)
		b = protowire.AppendBytes(b, strconv.AppendUint(digits[:0], f.Value, 10))
		b = appendMessage(b, start, num)
	}
	return b
}

// statusSize is about the size of an encoded status with a name of some bytes.
const statusSize = 40

// appendMessage makes what was appended since start the message in a field.
func appendMessage(b []byte, start int, num protowire.Number) []byte {
	var head [16]byte
	h := protowire.AppendVarint(protowire.AppendTag(head[:0], num, bytesType), uint64(len(b)-start))
	end := len(b)
	b = append(b, h...)
	copy(b[start+len(h):], b[start:end])
	copy(b[start:], h)
	return b
}

func appendStatus(b []byte, s *ratelimit.Status) []byte {
	b = appendUint(b, 1, uint64(s.Code))
	if s.Limited {
		start := len(b)
		b = appendUint(b, 1, uint64(s.RequestsPerUnit))
		b = appendUint(b, 2, uint64(s.Unit))
		b = appendText(b, 3, s.Name)
		if s.UnitMultiplier > 0 {
			multiplier := len(b)
			b = appendMessage(appendUint(b, 1, uint64(s.UnitMultiplier)), multiplier, 4)
		}
		b = appendMessage(b, start, 2)
	}
	b = appendUint(b, 3, uint64(s.Remaining))
	if s.Limited {
		start := len(b)
		b = appendMessage(appendUint(b, 1, uint64(s.ResetSeconds)), start, 4)
	}
	return b
}

// appendUint omits zero, as proto3 does.
func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, num, varintType)
	return protowire.AppendVarint(b, v)
}

func appendText(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	b = protowire.AppendTag(b, num, bytesType)
	return protowire.AppendString(b, v)
}
