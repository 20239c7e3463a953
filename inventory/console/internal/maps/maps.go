// Package maps has the pages of the console for the map of the network, racks, and the tree of prefixes.
package maps

import (
	"embed"
	"io/fs"

	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Files returns the templates and the assets of the pages.
func Files() (templates, assets fs.FS, err error) {
	if templates, err = fs.Sub(files, "templates"); err != nil {
		return nil, nil, err
	}
	assets, err = fs.Sub(files, "assets")
	return templates, assets, err
}

// Routes returns the routes of the pages.
func Routes() []site.Route {
	return []site.Route{
		{Pattern: "GET /map", Handle: showMap},
		{Pattern: "GET /map/graph.json", Handle: sendGraph},
		{Pattern: "GET /map/device/{id}", Handle: showDevice},
		{Pattern: "POST /map/positions", Handle: savePositions},
		{Pattern: "GET /elevation/{rack}", Handle: showElevation},
		{Pattern: "GET /elevation/{rack}/move", Handle: previewMove},
		{Pattern: "POST /elevation/{rack}/move", Handle: moveDevice},
		{Pattern: "GET /prefixes", Handle: showPrefixes},
	}
}
