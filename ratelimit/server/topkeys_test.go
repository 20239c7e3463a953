package server_test

import (
	"encoding/json"
	"testing"

	ratelimitcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
)

// The debug port and, if it is asked to, the scrape show the busiest keys. What clients send is data.
func TestTopKeys(t *testing.T) {
	const evil = "a\"\\\n\x1b[31m<b>"
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"DISABLE_STATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": "127.0.0.1:0", "SCRAPE_TOP_KEYS": "1",
	}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for _, value := range []string{"busy", evil, "busy", "busy"} {
		_, err := client.ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*ratelimitcommonv3.RateLimitDescriptor{
			{Entries: []*ratelimitcommonv3.RateLimitDescriptor_Entry{{Key: "client", Value: value}}},
		}})
		require.NoError(t, err)
	}
	code, page := r.getAt(r.addr.Debug, "/topkeys")
	require.Equal(t, 200, code)
	require.Contains(t, page, "\nd.client: 4 hits, 1 refused\n  3 hits: client=busy\n  1 hit: client=a\"\\??[31m<b>\n  1 refused: client=busy\n")

	_, page = r.getAt(r.addr.Debug, "/topkeys?format=json&keys=1")
	var shown struct {
		Rules []struct {
			Rule       string
			Hits       int
			ByHits     []struct{ Entries []struct{ Key, Value string } } `json:"by_hits"`
			ByRefusals []struct{ Count, Error int }                      `json:"by_refusals"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(page), &shown))
	require.Len(t, shown.Rules, 1)
	require.Equal(t, "d.client", shown.Rules[0].Rule)
	require.Len(t, shown.Rules[0].ByHits, 1)
	require.Equal(t, "busy", shown.Rules[0].ByHits[0].Entries[0].Value)
	require.Equal(t, 1, shown.Rules[0].ByRefusals[0].Count)

	_, metrics := r.getAt(r.addr.Scrape, "/metrics")
	require.Contains(t, metrics, `ratelimit_top_key_hits{domain="d",key="client=busy",rule="client"} 3`)
	require.Contains(t, metrics, `ratelimit_top_key_refusals{domain="d",key="client=busy",rule="client"} 1`)
	require.NotContains(t, metrics, "[31m")

	for _, query := range []string{"?keys=0", "?keys=65", "?rules=x", "?format=xml"} {
		code, _ := r.getAt(r.addr.Debug, "/topkeys"+query)
		require.Equal(t, 400, code, query)
	}
}

func TestTopKeysOff(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"TOP_KEYS": "false"}).start()
	code, page := r.getAt(r.addr.Debug, "/topkeys")
	require.Equal(t, 404, code)
	require.Contains(t, page, "TOP_KEYS=true")
}
