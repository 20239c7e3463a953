package main

import (
	"bytes"
	"context"
	"math"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// TestWarnsWithoutLimit checks that a service without a rule for the requests is reported, once for
// each target.
func TestWarnsWithoutLimit(t *testing.T) {
	without := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		return &ratelimitv3.RateLimitResponse{
			OverallCode: ratelimitv3.RateLimitResponse_OK,
			Statuses:    []*ratelimitv3.RateLimitResponse_DescriptorStatus{{Code: ratelimitv3.RateLimitResponse_OK}},
		}, nil
	}})
	base := startBaseline(t)
	warning := "ratelimit-load: warning: no response of " + without + ` has a limit: check that domain "shop" has a rule for key "client" (-domain, -entry)` + "\n"
	few := " -calls 20 -duration 1m -warmup 0 -concurrency 1 -connections 1 -domain shop -entry client"
	code, _, stderr := program(t.Context(), "-addr "+without+few)
	require.Zero(t, code)
	require.Equal(t, warning, stderr)
	_, _, stderr = program(t.Context(), "-addr "+base+few)
	require.Empty(t, stderr)
	_, _, stderr = program(t.Context(), "-compare a="+base+",b="+without+few+" -rounds 2")
	require.Equal(t, warning, stderr)
}

func TestHasLimit(t *testing.T) {
	t.Parallel()
	type status = ratelimitv3.RateLimitResponse_DescriptorStatus
	for want, statuses := range map[bool][][]*status{
		true: {
			{{Code: 2, CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{}}},
			{{}, {LimitRemaining: math.MaxUint32}},
		},
		false: {nil, {{}}, {{Code: 1}, {Code: 1}}},
	} {
		for _, s := range statuses {
			encoded, err := proto.Marshal(&ratelimitv3.RateLimitResponse{OverallCode: 1, Statuses: s})
			require.NoError(t, err)
			require.Equal(t, want, hasLimit(encoded), "%v", s)
		}
	}
}

// lines passes on what is written, and is closed when there is a whole line.
type lines struct {
	mu   sync.Mutex
	b    bytes.Buffer
	once sync.Once
	some chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.once.Do(func() { close(l.some) })
	return l.b.Write(p)
}

func TestProgress(t *testing.T) {
	out := &lines{some: make(chan struct{})}
	p := newProgress(out)
	require.Equal(t, 10*time.Second, p.every, "not a terminal")
	p.every, p.phase = time.Millisecond, "measuring"
	s := &stretch{load: &load{calls: 500, progress: p}, start: time.Now().Add(-4 * time.Second), duration: 10 * time.Second}
	s.tickets.Store(600)
	require.Equal(t, "measuring: 4s of 10s, 500 calls, 125 a second", s.text("measuring", 4*time.Second))
	stop := p.watch(s)
	<-out.some
	stop()
	require.Regexp(t, `^ratelimit-load: measuring: \d+s of 10s, 500 calls, \d+ a second\n`, out.b.String())
	p.terminal, out.b = true, bytes.Buffer{}
	p.every = time.Hour
	p.watch(s)()
	require.Equal(t, "\r\x1b[K", out.b.String(), "the line is removed at the end")
}
