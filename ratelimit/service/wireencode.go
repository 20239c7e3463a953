package service

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// appendResponse writes a decision as an encoded RateLimitResponse, byte for byte
// as the generated code would, but for dynamic metadata, which it leaves out.
func (s *Service) appendResponse(b []byte, d *ratelimit.Decision) []byte {
	if b == nil {
		b = make([]byte, 0, s.responseSize(d))
	}
	b = appendUint(b, 1, uint64(d.Code))
	for i := range d.Statuses {
		st := &d.Statuses[i]
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(statusSize(st)))
		b = appendStatus(b, st)
	}
	if t := s.headerStatus(d); t != nil {
		for _, f := range s.headers.Fields(t) {
			b = appendHeader(b, f.Name, f.Value)
		}
	}
	return b
}

// responseSize is enough room for the answer.
func (s *Service) responseSize(d *ratelimit.Decision) int {
	size := 2
	for i := range d.Statuses {
		size += 4 + statusSize(&d.Statuses[i])
	}
	if s.headers != nil {
		for _, f := range s.headers.Fields(&ratelimit.Status{}) {
			size += 24 + len(f.Name)
		}
	}
	return size
}

func appendStatus(b []byte, s *ratelimit.Status) []byte {
	b = appendUint(b, 1, uint64(s.Code))
	if s.Limited {
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(limitSize(s)))
		b = appendUint(b, 1, uint64(s.RequestsPerUnit))
		b = appendUint(b, 2, uint64(s.Unit))
		b = appendText(b, 3, s.Name)
	}
	b = appendUint(b, 3, uint64(s.Remaining))
	if s.Limited {
		b = protowire.AppendTag(b, 4, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(uintSize(uint64(s.ResetSeconds))))
		b = appendUint(b, 1, uint64(s.ResetSeconds))
	}
	return b
}

func statusSize(s *ratelimit.Status) int {
	n := uintSize(uint64(s.Code)) + uintSize(uint64(s.Remaining))
	if s.Limited {
		n += messageSize(limitSize(s)) + messageSize(uintSize(uint64(s.ResetSeconds)))
	}
	return n
}

func limitSize(s *ratelimit.Status) int {
	n := uintSize(uint64(s.RequestsPerUnit)) + uintSize(uint64(s.Unit))
	if s.Name != "" {
		n += messageSize(len(s.Name))
	}
	return n
}

func appendHeader(b []byte, name string, value uint64) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], value, 10)
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(messageSize(len(name))+messageSize(len(text))))
	b = appendText(b, 1, name)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendBytes(b, text)
}

// appendUint writes a field unless it is zero, as proto3 has it.
func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func appendText(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, v)
}

// All field numbers here are below 16, so a tag is one byte.

func uintSize(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(v)
}

func messageSize(n int) int { return 1 + protowire.SizeVarint(uint64(n)) + n }
