// Package netmap has the pages with the map of the network, drawn from the API of the topology.
package netmap

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Style: "style-map.css", Routes: []site.Route{
		{Pattern: "GET /map", Handle: showMap},
		{Pattern: "GET /map/graph.json", Handle: sendGraph},
		{Pattern: "GET /map/device/{id}", Handle: showDevice},
		{Pattern: "POST /map/positions", Handle: savePositions},
	}, Entries: []site.Entry{
		{Label: "Map", Path: "/map", Icon: "network", Order: 10, Show: mayShow},
	}, Links: []site.RecordLink{
		{Resource: "devices", Label: "Map", Icon: "network", Path: func(id string) string { return "/map?device=" + id }, Show: mayShow},
		{Resource: "locations", Label: "Map", Icon: "network", Path: func(id string) string { return "/map?location=" + id }, Show: mayShow},
	}}
}

// mayShow reports whether the sender may see what a map shows.
func mayShow(q *site.Request) bool { return q.MaySee("links", "devices", "interfaces") }
