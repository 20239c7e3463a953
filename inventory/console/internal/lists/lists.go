// Package lists has the pages of the console for lists of records, searches, exports, and the feed that pages follow.
//
// The state of a list is its address: the parameters of the API's list, and the columns. So a filter of the API
// works in an address of the console, and a bookmark or a saved view keeps it. Names of fields have no hyphen, so those of
// the form that adds a filter have one. Only column and done hide the filter of a field with such a name.
package lists

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Style: "style-lists.css", Routes: []site.Route{
		{Pattern: "GET /r/{resource}", Handle: showList},
		{Pattern: "GET /r/{resource}/export", Handle: export},
		{Pattern: "POST /r/{resource}/views", Handle: changeViews},
		{Pattern: "GET /suggest/{resource}", Handle: suggest},
		{Pattern: "GET /search", Handle: search},
		{Pattern: "GET /live", Handle: live},
	}}
}
