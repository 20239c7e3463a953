package replay_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// envoyLog returns n lines as Envoy writes them, ten for each second, of clients of which some make
// most of the requests.
func envoyLog(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	clients := rand.NewZipf(random, 1.2, 10, 20_000)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	for i := range n {
		client := clients.Uint64()
		fmt.Fprintf(&b, `{"start_time":"%s","method":"GET","path":"/api/items/%d?page=%d","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","bytes_received":0,"bytes_sent":%d,"duration":%d,"upstream_host":"10.1.2.3:8080","x_forwarded_for":null,"user_agent":"Mozilla/5.0 (X11; Linux x86_64)","request_id":"%08x-9f4e-4a70-8f9c-%012x","authority":"api.example.com","downstream_remote_address":"10.%d.%d.%d:54321"}`+"\n",
			start.Add(time.Duration(i)*100*time.Millisecond).Format("2006-01-02T15:04:05.000Z"),
			i%1000, i%7, 100+i%5000, i%300, i, i*7919, client>>16&255, client>>8&255, client&255)
	}
	return b.Bytes()
}

func benchRules(tb testing.TB, perMinute uint32) *ratelimit.Ruleset {
	tb.Helper()
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "edge", Rules: []ratelimit.Rule{
		{Key: "remote_address", Limit: &ratelimit.Limit{RequestsPerUnit: perMinute, Unit: ratelimit.Minute}},
	}}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// BenchmarkReplay replays lines of Envoy's access log, beside a baseline that only decodes them
// with encoding/json into a struct of the two fields that the replay needs, on one goroutine.
func BenchmarkReplay(b *testing.B) {
	const lines = 100_000
	log := envoyLog(lines)
	rules, other := benchRules(b, 20), benchRules(b, 30)
	run := func(b *testing.B, opts *replay.Options) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			report, err := replay.Run(b.Context(), bytes.NewReader(log), rules, opts)
			if err != nil || report.Requests != lines {
				b.Fatal(report, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
	}
	b.Run("one", func(b *testing.B) { run(b, nil) })
	b.Run("two", func(b *testing.B) { run(b, &replay.Options{Against: other}) })
	b.Run("baseline", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			s := bufio.NewScanner(bytes.NewReader(log))
			for s.Scan() {
				var line struct {
					StartTime time.Time `json:"start_time"`
					Address   string    `json:"downstream_remote_address"`
				}
				if err := json.Unmarshal(s.Bytes(), &line); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
	})
}
