// Package maps has the pages of the console for racks and the tree of prefixes.
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
		{Pattern: "GET /elevation/{rack}", Handle: showElevation},
		{Pattern: "GET /elevation/{rack}/move", Handle: previewMove},
		{Pattern: "POST /elevation/{rack}/move", Handle: moveDevice},
		{Pattern: "GET /prefixes", Handle: showPrefixes},
	}, Entries: []site.Entry{
		{Label: "Prefix tree", Path: "/prefixes", Icon: "prefix", Order: 30, Show: func(q *site.Request) bool { return q.MaySee("prefixes") }},
	}}
}
