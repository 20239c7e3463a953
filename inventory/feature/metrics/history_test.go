package metrics_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/metrics"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestHistory checks raw, 5-minute and hourly metrics: late ones count, doing it again changes
// nothing, and old metrics are deleted while their summaries stay.
func TestHistory(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		d := g.Create("/devices", featuretest.Device("core-1"))
		measure := func(ts string, cpu any, uptime int) {
			t.Helper()
			g.Create("/metrics", object{"device_id": d["id"], "ts": ts, "cpu": cpu, "uptime_seconds": uptime})
		}
		measure("2026-01-31T11:01:00Z", 10, 1)
		measure("2026-01-31T11:04:59Z", 50, 2)
		measure("2026-01-31T11:05:00Z", nil, 3)
		get := func(query string) []object {
			t.Helper()
			return featuretest.Data(t, g.As("viewer").Send("GET", "/metrics/device/"+d["id"].(string)+"/history"+query, nil))
		}
		points := func(query string, want ...object) {
			t.Helper()
			got := get(query)
			if len(got) != len(want) {
				t.Fatalf("%s: %v, want %v", query, got, want)
			}
			for i, p := range got {
				if has := (object{"ts": p["ts"], "samples": p["samples"], "cpu": p["cpu"], "uptime": p["uptime_seconds"]}); !reflect.DeepEqual(has, want[i]) {
					t.Errorf("%s: %v, want %v", query, has, want[i])
				}
			}
		}
		point := func(ts string, samples, uptime float64, cpu ...any) object {
			return object{"ts": ts, "samples": samples, "cpu": object{"min": cpu[0], "avg": cpu[1], "max": cpu[2]}, "uptime": uptime}
		}
		roller, err := inventory.NewRoller(g.Store, inventory.Retention{Raw: 2 * time.Hour}, g.Now)
		require.NoError(t, err)
		step := func(r *inventory.Roller) bool {
			t.Helper()
			more, err := r.Step(context.Background())
			require.NoError(t, err)
			return more
		}
		step(roller)
		points("?step=5m") // too young
		g.Forward(time.Minute)
		step(roller)
		first, second := point("2026-01-31T11:00:00Z", 2, 2, 10.0, 30.0, 50.0), point("2026-01-31T11:05:00Z", 1, 3, nil, nil, nil)
		points("?step=5m", first, second)
		points("?step=1h", point("2026-01-31T11:00:00Z", 3, 3, 10.0, 30.0, 50.0))
		points("?from=2026-01-31T11:05:00Z&to=2026-01-31T11:06:00Z&step=5m", second)
		points("?from=2026-01-31T11:01:00Z&to=2026-01-31T11:04:59Z", point("2026-01-31T11:01:00Z", 1, 1, 10.0, 10.0, 10.0))

		measure("2026-01-31T11:02:00Z", 0, 1) // late
		g.Forward(30 * time.Second)
		other, err := inventory.NewRoller(g.Store, inventory.Retention{}, g.Now)
		require.NoError(t, err)
		step(other) // the first one has the job
		points("?step=5m", first, second)
		step(roller)
		step(roller)
		points("?step=5m", point("2026-01-31T11:00:00Z", 3, 2, 0.0, 20.0, 50.0), second)

		g.Forward(2 * time.Hour)
		if !step(roller) {
			t.Error("there is no more to do after a deletion")
		}
		if step(roller) {
			t.Error("there is more to do without old metrics")
		}
		points("?step=raw")
		points("?step=5m&from=2026-01-31T00:00:00Z", point("2026-01-31T11:00:00Z", 3, 2, 0.0, 20.0, 50.0), second)
		if n := count(t, g, "metrics"); n != 0 {
			t.Errorf("%d metrics are left", n)
		}
		if left := featuretest.Data(t, g.As("viewer").Send("GET", "/metrics", nil)); len(left) != 0 {
			t.Errorf("the overview has %v", left)
		}
		g.As("root").Send("DELETE", featuretest.Path("/devices", d), nil).Want(200)
		if n := count(t, g, "metric-rollups"); n != 0 {
			t.Errorf("%d summaries of a deleted device", n)
		}
	}, metrics.New)
}

// TestHistoryRange checks the parameters of a history and the steps that follow from them.
func TestHistoryRange(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, metrics.New())
	d := featuretest.Path("/metrics/device", g.Create("/devices", featuretest.Device("core-1"))) + "/history"
	c := g.As("viewer")
	for query, want := range map[string]string{
		"": "5m", "?from=2026-01-31T07:00:00Z": "raw", "?from=2026-01-20T00:00:00Z": "1h", "?from=2026-01-26T00:00:00Z": "5m",
	} {
		if got := featuretest.Read(t, c.Send("GET", d+query, nil).Want(200))["meta"].(object)["step"]; got != want {
			t.Errorf("%q: step %v, want %s", query, got, want)
		}
	}
	for query, message := range map[string]string{
		"from=yesterday":                    "from time",
		"from=2027-01-01T00:00:00Z":         "from before",
		"step=2h":                           "step raw 5m",
		"from=2020-01-01T00:00:00Z":         "1h 1999",
		"step=5m&from=2026-01-01T00:00:00Z": "5m 166",
		"page=1":                            "page unknown",
	} {
		c.Send("GET", d+"?"+query, nil).WantError(400, message)
	}
	c.Send("GET", "/metrics/device/"+featuretest.Unknown+"/history", nil).WantError(404, "Device not found")
}

// count returns the number of records of a resource, which may be an internal one.
func count(t *testing.T, g *featuretest.API, resource string) int64 {
	t.Helper()
	stored := g.Store.Schema().StoredResources()
	i := slices.IndexFunc(stored, func(r *records.Resource) bool { return r.Name == resource })
	require.GreaterOrEqual(t, i, 0)
	page, err := g.Store.List(t.Context(), &records.Query{Resource: stored[i], Count: true, Limit: 1})
	require.NoError(t, err)
	return page.Total
}
