package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// method is the gRPC method under load.
	method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
	// probeTimeout bounds the first call on a connection, its dialling included.
	probeTimeout = 3 * time.Second
)

// target is a service to load, with its processes.
type target struct {
	name  string // only in a comparison
	addr  string
	pids  []int
	conns []*grpc.ClientConn
}

// connect opens n connections and makes one call on each. A service that is unreachable or returns
// an error is reported within probeTimeout.
func (t *target) connect(ctx context.Context, n int, probe []byte) error {
	for range n {
		conn, err := dial(t.addr)
		if err != nil {
			return fmt.Errorf("invalid address %s: %w: use host:port", t.addr, err)
		}
		t.conns = append(t.conns, conn)
		if err := t.probe(ctx, conn, probe); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) probe(ctx context.Context, conn *grpc.ClientConn, request []byte) error {
	first, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := conn.Invoke(first, method, request, new(ratelimitv3.RateLimitResponse)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("first call to %s: %s: %s; check that a v3 rate limit service listens there",
			t.addr, status.Code(err), status.Convert(err).Message())
	}
	return nil
}

// close closes the connections and ignores errors.
func (t *target) close() {
	for _, conn := range t.conns {
		_ = conn.Close()
	}
	t.conns = nil
}

// dial returns a connection without features that calls do not need. It connects on the first call.
func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{encoding.GetCodecV2(protocodec.Name)})),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0), // stay connected between rounds
	)
}

// parseTargets reads the value of -compare.
func parseTargets(list string) ([]*target, error) {
	var targets []*target
	names := make(map[string]bool)
	for text := range strings.SplitSeq(list, ",") {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		if names[t.name] {
			return nil, fmt.Errorf("duplicate target name %q", t.name)
		}
		names[t.name] = true
		targets = append(targets, t)
	}
	if len(targets) < 2 {
		return nil, fmt.Errorf("only one target %q: name two or more", list)
	}
	return targets, nil
}

// parseTarget reads name=host:port or name=host:port:pid+pid. The part before the last colon is an
// address in the second form only.
func parseTarget(text string) (*target, error) {
	name, addr, _ := strings.Cut(text, "=")
	t := &target{name: name, addr: addr}
	if i := strings.LastIndexByte(addr, ':'); i >= 0 && isAddress(addr[:i]) {
		for id := range strings.SplitSeq(addr[i+1:], "+") {
			pid, err := strconv.Atoi(id)
			if err != nil || pid <= 0 {
				return nil, fmt.Errorf("target %q: invalid process id %q: use a positive number", text, id)
			}
			t.pids = append(t.pids, pid)
		}
		t.addr = addr[:i]
	}
	if name == "" || !isAddress(t.addr) {
		return nil, fmt.Errorf("target %q: use name=host:port or name=host:port:pid", text)
	}
	return t, nil
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

// codec is the ordinary gRPC codec, except that its requests are encoded in advance, so that the
// generator spends its time in the transport.
type codec struct{ encoding.CodecV2 }

// Marshal passes the encoded request without a copy.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	request, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("marshal %T: want an encoded request", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(request)}, nil
}

// encodeRequests encodes a request for every key: the descriptors of request k have the values k,
// k+1, ... (modulo keys), so that a request counts no key twice unless it has more descriptors than
// keys. The requests must not be changed.
func encodeRequests(s *settings) ([][]byte, error) {
	requests := make([][]byte, s.keys)
	for key := range requests {
		var err error
		if requests[key], err = (proto.MarshalOptions{Deterministic: true}).Marshal(newRequest(s, key)); err != nil {
			return nil, fmt.Errorf("encode the request for key %d: %w", key, err)
		}
	}
	return requests, nil
}

func newRequest(s *settings, key int) *ratelimitv3.RateLimitRequest {
	request := &ratelimitv3.RateLimitRequest{Domain: s.domain, HitsAddend: 1}
	for i := range s.descriptors {
		value := strconv.Itoa((key + i) % s.keys)
		request.Descriptors = append(request.Descriptors, &commonv3.RateLimitDescriptor{
			Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: s.entry, Value: value}},
		})
	}
	return request
}

// picker chooses the prepared request of the call with a ticket. A picker belongs to one worker.
type picker func(ticket uint64) int

// newPicker returns a picker of indexes from 0 to keys-1. The worker determines its random choices.
func newPicker(name string, keys, worker int) picker {
	switch name {
	case "hot":
		return func(uint64) int { return 0 }
	case "sequence":
		return func(ticket uint64) int { return int(ticket % uint64(keys)) }
	default:
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		return func(uint64) int { return random.IntN(keys) }
	}
}
