// Package detail has the pages of the console for the home page, and the page of a record with its history.
package detail

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Style: "style-detail.css", Routes: []site.Route{
		{Pattern: "GET /{$}", Handle: showHome},
		{Pattern: "GET /r/{resource}/{id}", Handle: showRecord},
		{Pattern: "GET /r/{resource}/{id}/history", Handle: showHistory},
		{Pattern: "GET " + activityPath, Handle: showActivity},
	}, Entries: []site.Entry{activityEntry()}}
}
