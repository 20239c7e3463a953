package main

import (
	"fmt"
	"strconv"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
)

// requests holds one encoded request per key, made before the clock starts. All
// of them lie in one block without pointers, so that the collector has nothing
// to look at however many keys there are.
type requests struct {
	block []byte
	ends  []int
}

// encodeRequests encodes a request for every key: the descriptors of request k
// carry the values k, k+1, ... (modulo keys), so that one request never counts
// a key twice unless it has more descriptors than there are keys.
func encodeRequests(s *settings) (*requests, error) {
	r := &requests{ends: make([]int, s.keys)}
	options := proto.MarshalOptions{Deterministic: true}
	for key := range s.keys {
		var err error
		if r.block, err = options.MarshalAppend(r.block, newRequest(s, key)); err != nil {
			return nil, fmt.Errorf("encode the request for key %d: %w", key, err)
		}
		r.ends[key] = len(r.block)
	}
	return r, nil
}

// get returns the encoded request for key; it must not be changed.
func (r *requests) get(key int) []byte {
	start := 0
	if key > 0 {
		start = r.ends[key-1]
	}
	return r.block[start:r.ends[key]:r.ends[key]]
}

func newRequest(s *settings, key int) *ratelimitv3.RateLimitRequest {
	request := &ratelimitv3.RateLimitRequest{Domain: s.domain, HitsAddend: uint32(s.hits)}
	for i := range s.descriptors {
		value := strconv.Itoa((key + i) % s.keys)
		request.Descriptors = append(request.Descriptors, &commonv3.RateLimitDescriptor{
			Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: s.entry, Value: value}},
		})
	}
	return request
}
