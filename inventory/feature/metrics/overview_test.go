package metrics_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/metrics"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: everybody sees metrics.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, metrics.New(), map[string]featuretest.Rights{
		"GET /metrics":                     {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/{id}":                {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/device/{id}":         {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/device/{id}/history": {Who: "1+++", Scope: "metrics:read"},
	})
}

// measured adds metrics of three devices, the latest last.
func measured(t *testing.T, g *featuretest.API) []object {
	t.Helper()
	var devices []object
	for i := range 4 { // the last has none
		devices = append(devices, g.Create("/devices", featuretest.Device(fmt.Sprint("core-", i))))
	}
	for minute, row := range [][]float64{{90, 10, 30}, {20, 80, 40}, {50, 50, 20}} {
		for i, cpu := range row {
			g.Create("/metrics", object{
				"device_id": devices[i]["id"], "cpu": cpu, "memory": 100 - cpu, "temp": 20 + i, "uptime_seconds": 1000 - i,
				"ts": fmt.Sprintf("2026-01-31T12:%02d:0%dZ", minute, i),
			})
		}
	}
	return devices
}

// TestOverview checks that /metrics has the latest metric of each device, the latest first,
// in all orders (REFERENCE.md, 2.8).
func TestOverview(t *testing.T) { featuretest.OnStores(t, overview, metrics.New) }

func overview(t *testing.T, g *featuretest.API) {
	t.Helper()
	devices := measured(t, g)
	c := g.As("viewer")
	index := map[any]string{}
	for i, d := range devices {
		index[d["id"]] = fmt.Sprint(i)
	}
	for query, want := range map[string]string{
		"":                              "2 1 0",
		"?sort=value:desc":              "1 0 2",
		"?sort=cpu:desc":                "1 0 2",
		"?sort=memory:desc":             "2 1 0",
		"?sort=temp:desc":               "2 1 0",
		"?sort=uptime:desc":             "0 1 2",
		"?sort=ts:asc":                  "0 1 2",
		"?sort=value:asc&limit=2":       "2 0", // equal values in the reverse of the order of value:desc
		"?sort=value:desc&cpu__gte=50":  "1 0",
		"?sortby=cpu:asc&sortby=ts:asc": "2 0 1",
		"?cpu=90":                       "", // it was, and is no longer
		"?latest=true&temp__gt=20":      "2 1",
		"?latest=false&cpu__gte=80":     "1 0",
		"?latest=false&sort=cpu:desc&limit=2&device_id=" + devices[0]["id"].(string): "0 0",
	} {
		var got []string
		for _, m := range featuretest.Data(t, c.Send("GET", "/metrics"+query, nil)) {
			got = append(got, index[m["device_id"]])
			if i, _ := strconv.Atoi(index[m["device_id"]]); m["hostname"] != devices[i]["hostname"] {
				t.Errorf("%s: the hostname is %v, want %v", query, m["hostname"], devices[i]["hostname"])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: the devices %v, want %s", query, got, want)
		}
	}
	for fields, want := range map[string]object{"cpu": {"cpu": 90.0}, "device_id": {"device_id": devices[0]["id"], "hostname": devices[0]["hostname"]}} {
		if got := featuretest.Data(t, c.Send("GET", "/metrics?sort=cpu:desc&latest=false&limit=1&fields="+fields+"&device_id="+devices[0]["id"].(string), nil)); len(got) != 1 || len(got[0]) != len(want) || got[0]["hostname"] != want["hostname"] {
			t.Errorf("fields=%s: %v, want %v", fields, got, want)
		}
	}
	for query, message := range map[string]string{
		"sort=value":              "sort value",
		"sort=frob:desc":          "sort",
		"sort=cpu:desc&sort=ts:x": "Duplicate query parameter forbidden: sort",
		"sort=cpu:desc&sortby=x":  "sort sortby",
		"latest=maybe":            "latest true",
		"frob=1":                  "frob unknown",
	} {
		c.Send("GET", "/metrics?"+query, nil).WantError(400, message)
	}
}

// TestLatestMetric checks the latest metric of a device.
func TestLatestMetric(t *testing.T) { featuretest.OnStores(t, latestMetric, metrics.New) }

func latestMetric(t *testing.T, g *featuretest.API) {
	t.Helper()
	devices := measured(t, g)
	c := g.As("viewer")
	a := c.Send("GET", "/metrics/device/"+devices[1]["id"].(string), nil).Want(200)
	if m := featuretest.Read(t, a); m["ts"] != "2026-01-31T12:02:01Z" {
		t.Errorf("the latest is %v", m)
	}
	c.Send("GET", "/metrics/device/"+devices[1]["id"].(string), nil, "If-None-Match", a.Header().Get("ETag")).Want(304)
	c.Send("GET", "/metrics/device/"+devices[3]["id"].(string), nil).WantError(404, "Metrics not found for this device")
	c.Send("GET", "/metrics/device/"+featuretest.Unknown, nil).WantError(404, "Metrics not found for this device")
}
