package statsd_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"regexp"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// Parts of the names become tags, so that one metric covers all limits.
func ExampleNewAgent() {
	agent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	registry := stats.New(nil)
	sink, err := statsd.NewAgent(registry, agent.LocalAddr().String(), &statsd.Options{
		Tags: []stats.Tag{{Name: "zone", Value: "a"}},
		Mogrifiers: []statsd.Mogrifier{{
			Name:    "limits",
			Pattern: regexp.MustCompile(`^ratelimit\.service\.rate_limit\.([^.]+)\.(.+)\.([^.]+)$`),
			Metric:  "ratelimit.$3",
			Tags:    []string{"domain:$1", "descriptor:$2"},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	registry.Counter("ratelimit.service.rate_limit.shop.user.over_limit").Add(3)
	ctx, stop := context.WithCancel(context.Background())
	stop() // the last flush is the only one
	if err := sink.Run(ctx); err != nil {
		log.Fatal(err)
	}

	packet := make([]byte, 1500)
	for range 2 { // the empty line that tests the port, and the flush
		n, _, err := agent.ReadFrom(packet)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(packet[:n]))
	}
	// Output:
	// ratelimit.over_limit:3|c|#zone:a,domain:shop,descriptor:user
}
