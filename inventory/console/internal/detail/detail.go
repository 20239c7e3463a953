// Package detail has the pages of the console for the home page, the page of a record with its history, and traces of cables.
package detail

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /{$}", Handle: showHome},
		{Pattern: "GET /r/{resource}/{id}", Handle: showRecord},
		{Pattern: "GET /r/{resource}/{id}/history", Handle: showHistory},
		{Pattern: "GET /r/devices/{id}/metrics.json", Handle: sendMetrics},
		{Pattern: "GET /trace/{resource}/{id}", Handle: showTrace},
		{Pattern: "POST /events/{id}/acknowledge", Handle: acknowledge},
		{Pattern: "POST /prefixes/{id}/next-address", Handle: nextAddress},
		{Pattern: "POST /prefixes/{id}/next-prefix", Handle: nextPrefix},
	}}
}
