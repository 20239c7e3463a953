package replay_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Three requests of one client and one of another, against two requests a minute.
func ExampleRun() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute}},
	}}}, nil)
	if err != nil {
		panic(err)
	}
	log := `{"time": "2026-01-02T03:04:05Z", "client": "bob"}
{"time": "2026-01-02T03:04:06Z", "client": "bob"}
{"time": "2026-01-02T03:04:07Z", "client": "ann"}
{"time": "2026-01-02T03:04:08Z", "client": "bob"}
`
	report, err := replay.Run(context.Background(), strings.NewReader(log), rules, nil)
	if err != nil {
		panic(err)
	}
	rule := report.Result.Rules[0]
	fmt.Println(report.Result.Refused, "of", report.Requests, "refused;", rule.SmallestLimit, "a minute would be enough for", rule.PeakKey)
	// Output: 1 of 4 refused; 3 a minute would be enough for client=bob
}
