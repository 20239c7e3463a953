package statsd_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func TestBadOptions(t *testing.T) {
	for _, tt := range []struct {
		opts statsd.Options
		want []string
	}{
		{statsd.Options{Network: "unix"}, []string{`"unix"`, `"tcp" or "udp"`}},
		{statsd.Options{FlushInterval: -1}, []string{"FlushInterval -1ns", "more than 0"}},
		{statsd.Options{MaxTimerLines: -1}, []string{"MaxTimerLines -1", "1000000"}},
		{statsd.Options{MaxTimerLines: 1_000_001}, []string{"MaxTimerLines 1000001"}},
		{statsd.Options{Tags: []stats.Tag{{Name: "a", Value: "b"}, {Value: "b"}}}, []string{"tag 2", "may be empty"}},
		{statsd.Options{Tags: []stats.Tag{{Name: "a"}}}, []string{`tag 1, "a"`, "may be empty"}},
	} {
		s, err := statsd.New(stats.New(nil), "localhost:8125", &tt.opts)
		require.Nil(t, s)
		require.Error(t, err, "%+v", tt.opts)
		for _, want := range tt.want {
			require.ErrorContains(t, err, want)
		}
	}
	_, err := statsd.NewWriter(stats.New(nil), &bytes.Buffer{}, &statsd.Options{FlushInterval: -1})
	require.ErrorContains(t, err, "writer: FlushInterval")
	_, err = statsd.NewAgent(stats.New(nil), "localhost:8125", &statsd.Options{MaxTimerLines: -1})
	require.ErrorContains(t, err, "agent: MaxTimerLines")
}

func TestBadAddresses(t *testing.T) {
	for _, addr := range []string{"", "localhost", ":8125", "localhost:", "localhost:0", "localhost:65536", "localhost:statsd", "a:b:1", "unix:///x"} {
		for _, create := range []func() (*statsd.Sink, error){
			func() (*statsd.Sink, error) { return statsd.New(stats.New(nil), addr, nil) },
			func() (*statsd.Sink, error) { return statsd.NewAgent(stats.New(nil), addr, nil) },
		} {
			s, err := create()
			require.Nil(t, s)
			require.ErrorContains(t, err, "address "+`"`+addr+`"`)
			require.ErrorContains(t, err, "host:port")
		}
	}
	for _, addr := range []string{"localhost:8125", "192.0.2.1:1", "[2001:db8::1]:65535", "not.there.invalid:8125"} {
		_, err := statsd.New(stats.New(nil), addr, nil)
		require.NoError(t, err)
	}
}
