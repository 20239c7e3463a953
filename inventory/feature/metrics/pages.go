package metrics

import (
	"embed"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages returns the measurements on the page of a device.
func pages() site.Pages {
	return site.Pages{
		Files: files, Style: "style-metrics.css",
		Routes: []site.Route{{Pattern: "GET /r/devices/{id}/metrics.json", Handle: sendMetrics}},
		Sections: []site.Section{{
			On: "devices", ID: "device-metrics", Title: "Measurements", Template: "metrics-charts", Tab: "Measurements", Order: 40, Charts: true,
			Follow: []string{"metrics"}, Needs: []string{"metrics"}, Hides: []string{"metrics.device_id"}, Load: loadMetrics,
		}},
	}
}

// measurements are the data of the charts of a device.
type measurements struct {
	Range  string
	Ranges []site.Action
	Chart  string // the address of the data
	Latest site.Record
	Uptime string
}

// ranges are the times that charts may show, and their lengths.
var ranges = []struct {
	Name   string
	Length time.Duration
}{{"1h", time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}}

// rangeOf returns the range of a request, a day by default.
func rangeOf(q *site.Request) (name string, length time.Duration) {
	for _, r := range ranges {
		if r.Name == q.R.URL.Query().Get("range") {
			return r.Name, r.Length
		}
	}
	return ranges[1].Name, ranges[1].Length
}

// loadMetrics reads the latest metric of a device.
func loadMetrics(p *site.Part) error {
	latest := site.Record{}
	if err := p.Get("/metrics/device/"+url.PathEscape(p.Rec.ID()), nil, &latest); err != nil {
		return err // 404 without any
	}
	m := measurements{Latest: latest, Uptime: uptime(latest.Number("uptime_seconds"))}
	here := p.RecordURL("devices", p.Rec.ID())
	m.Range, _ = rangeOf(p.Request)
	m.Chart = here + "/metrics.json?range=" + m.Range
	for _, r := range ranges {
		m.Ranges = append(m.Ranges, site.Action{Label: r.Name, URL: here + "?tab=measurements&range=" + r.Name})
	}
	p.Act("All", p.ListURL("metrics")+"?"+url.Values{"device_id": {p.Rec.ID()}, "latest": {"false"}}.Encode(), "")
	p.Data = m
	return nil
}

// uptime writes seconds in days and hours.
func uptime(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	d := time.Duration(seconds) * time.Second
	if d < 24*time.Hour {
		return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
	}
	return strconv.Itoa(int(d.Hours())/24) + " d " + strconv.Itoa(int(d.Hours())%24) + " h"
}

// series is a line of a chart.
type series struct {
	Label  string     `json:"label"`
	Unit   string     `json:"unit"`
	Values []*float64 `json:"values"`
}

// sendMetrics responds with the measurements of a device, for its charts.
func sendMetrics(q *site.Request) error {
	var found history
	_, length := rangeOf(q)
	from := time.Now().Add(-length).UTC().Format(time.RFC3339)
	if err := q.Get("/metrics/device/"+url.PathEscape(q.R.PathValue("id"))+"/history", url.Values{"from": {from}}, &found); err != nil {
		return err
	}
	times := make([]int64, len(found.Data))
	all := []series{{Label: "CPU", Unit: "%"}, {Label: "Memory", Unit: "%"}, {Label: "Temperature", Unit: "°C"}}
	for i, point := range found.Data {
		times[i] = point.TS.Unix()
		for n, v := range []*float64{point.CPU.Avg, point.Memory.Avg, point.Temp.Avg} {
			all[n].Values = append(all[n].Values, v)
		}
	}
	all = slices.DeleteFunc(all, func(s series) bool {
		return !slices.ContainsFunc(s.Values, func(v *float64) bool { return v != nil })
	})
	if len(all) == 0 {
		times = []int64{}
	}
	q.W.Header().Set("Cache-Control", "no-store")
	return httpx.WriteJSON(q.W, http.StatusOK, struct {
		Series []series `json:"series"`
		Times  []int64  `json:"times"`
	}{all, times})
}
