package service

import (
	"iter"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// The decoder knows just the fields and wire types that clients send, each where
// it may stand once. For anything else it gives up, and the generated code takes
// over: unknown fields, repeated singular messages, wrong types, text that is not
// UTF-8, units that do not exist. So there is one place that judges the unusual.

// decode fills the call's request from its encoding, which its strings then point
// into. It reports false, with the call half filled, if it gave up.
func (c *call) decode(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		switch {
		case num == 1 && typ == protowire.BytesType:
			n = decodeText(b, &c.request.Domain)
		case num == 2 && typ == protowire.BytesType:
			n = c.decodeDescriptor(b)
		case num == 3 && typ == protowire.VarintType:
			n = decodeUint32(b, &c.request.HitsAddend)
		default:
			return false
		}
		if n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// gaveUp is returned in place of a length.
const gaveUp = -1

// decodeText decodes a string and returns how long its encoding is.
func decodeText(b []byte, into *string) int {
	v, n := protowire.ConsumeBytes(b)
	if n < 0 || !utf8.Valid(v) {
		return gaveUp
	}
	*into = unsafe.String(unsafe.SliceData(v), len(v))
	return n
}

func decodeUint32(b []byte, into *uint32) int {
	v, n := protowire.ConsumeVarint(b)
	*into = uint32(v)
	return n
}

func (c *call) decodeDescriptor(b []byte) int {
	v, size := protowire.ConsumeBytes(b)
	if size < 0 {
		return gaveUp
	}
	if len(c.request.Descriptors) == c.most {
		return gaveUp
	}
	d := ratelimit.Descriptor{}
	start := len(c.entries)
	for len(v) > 0 {
		num, typ, n := protowire.ConsumeTag(v)
		if n < 0 || typ != protowire.BytesType {
			return gaveUp
		}
		v = v[n:]
		switch {
		case num == 1 && len(c.entries)-start < ratelimit.MaxDepth:
			n = c.decodeEntry(v)
		case num == 2 && d.Limit == nil:
			n = c.decodeOverride(v, &d)
		case num == 3 && d.HitsAddend == nil:
			n = c.decodeHits(v, &d)
		default:
			return gaveUp
		}
		if n < 0 {
			return gaveUp
		}
		v = v[n:]
	}
	d.Entries = c.entries[start:len(c.entries):len(c.entries)]
	c.request.Descriptors = append(c.request.Descriptors, d)
	return size
}

func (c *call) decodeEntry(b []byte) int {
	v, size := protowire.ConsumeBytes(b)
	if size < 0 {
		return gaveUp
	}
	var e ratelimit.Entry
	for len(v) > 0 {
		num, typ, n := protowire.ConsumeTag(v)
		if n < 0 || typ != protowire.BytesType {
			return gaveUp
		}
		v = v[n:]
		switch num {
		case 1:
			n = decodeText(v, &e.Key)
		case 2:
			n = decodeText(v, &e.Value)
		default:
			return gaveUp
		}
		if n < 0 {
			return gaveUp
		}
		v = v[n:]
	}
	c.entries = append(c.entries, e)
	return size
}

// decodeNumbers decodes a message of varint fields 1 to len(into).
func decodeNumbers(b []byte, into ...*uint64) int {
	v, size := protowire.ConsumeBytes(b)
	if size < 0 {
		return gaveUp
	}
	for len(v) > 0 {
		num, typ, n := protowire.ConsumeTag(v)
		if n < 0 || typ != protowire.VarintType || int(num) > len(into) {
			return gaveUp
		}
		v = v[n:]
		if *into[num-1], n = protowire.ConsumeVarint(v); n < 0 {
			return gaveUp
		}
		v = v[n:]
	}
	return size
}

func (c *call) decodeOverride(b []byte, d *ratelimit.Descriptor) int {
	var requests, unit uint64
	size := decodeNumbers(b, &requests, &unit)
	if size < 0 || unit > 255 || !ratelimit.Unit(unit).Valid() {
		return gaveUp
	}
	d.Limit = c.addOverride(ratelimit.Override{RequestsPerUnit: uint32(requests), Unit: ratelimit.Unit(unit)})
	return size
}

func (c *call) decodeHits(b []byte, d *ratelimit.Descriptor) int {
	var hits uint64
	size := decodeNumbers(b, &hits)
	if size < 0 {
		return gaveUp
	}
	d.HitsAddend = c.addHits(hits)
	return size
}

// oversized says why an encoded request has too many parts to be decoded at all.
// Bytes that are no request are somebody else's to refuse.
func oversized(b []byte, most int) error {
	descriptors := 0
	for d := range messages(b, 2) {
		if descriptors == most {
			return tooManyDescriptors(most)
		}
		entries := 0
		for range messages(d, 1) {
			if entries++; entries > ratelimit.MaxDepth {
				return tooManyEntries(descriptors)
			}
		}
		descriptors++
	}
	return nil
}

// messages goes through the length-delimited fields of one number.
func messages(b []byte, field protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			num, typ, n := protowire.ConsumeTag(b)
			if n < 0 {
				return
			}
			b = b[n:]
			size := protowire.ConsumeFieldValue(num, typ, b)
			if size < 0 {
				return
			}
			if num == field && typ == protowire.BytesType {
				if v, _ := protowire.ConsumeBytes(b); !yield(v) {
					return
				}
			}
			b = b[size:]
		}
	}
}
