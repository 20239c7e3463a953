// Package maps has the pages of the console for the map of the network, racks, and the tree of prefixes.
package maps

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /map", Handle: showMap},
		{Pattern: "GET /map/graph.json", Handle: sendGraph},
		{Pattern: "GET /map/device/{id}", Handle: showDevice},
		{Pattern: "POST /map/positions", Handle: savePositions},
		{Pattern: "GET /elevation/{rack}", Handle: showElevation},
		{Pattern: "GET /elevation/{rack}/move", Handle: previewMove},
		{Pattern: "POST /elevation/{rack}/move", Handle: moveDevice},
		{Pattern: "GET /prefixes", Handle: showPrefixes},
	}, Entries: []site.Entry{
		{Label: "Map", Path: "/map", Icon: "network", Order: 10, Show: func(q *site.Request) bool { return q.MaySee("links", "devices", "interfaces") }},
		{Label: "Prefix tree", Path: "/prefixes", Icon: "prefix", Order: 30, Show: func(q *site.Request) bool { return q.MaySee("prefixes") }},
	}}
}
