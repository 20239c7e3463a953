// Package detail has the pages of the console for the home page, the page of a record with its history, and traces of cables.
package detail

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
		{Pattern: "GET /{$}", Handle: showHome},
		{Pattern: "GET /r/{resource}/{id}", Handle: showRecord},
		{Pattern: "GET /r/{resource}/{id}/history", Handle: showHistory},
		{Pattern: "GET /r/devices/{id}/metrics.json", Handle: sendMetrics},
		{Pattern: "GET /trace/{resource}/{id}", Handle: showTrace},
		{Pattern: "POST /events/{id}/acknowledge", Handle: acknowledge},
		{Pattern: "POST /prefixes/{id}/next-address", Handle: nextAddress},
		{Pattern: "POST /prefixes/{id}/next-prefix", Handle: nextPrefix},
	}
}
