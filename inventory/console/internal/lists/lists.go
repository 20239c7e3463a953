// Package lists has the pages of the console for lists of records, searches, exports, and the feed that pages follow.
//
// The state of a list is its address: the parameters of the API's list, and the columns. So a filter of the API
// works in an address of the console, and a bookmark is a saved view. Names of fields have no hyphen, so those of
// the form that adds a filter have one. Only column and done hide the filter of a field with such a name.
package lists

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
		{Pattern: "GET /r/{resource}", Handle: showList},
		{Pattern: "GET /r/{resource}/export", Handle: export},
		{Pattern: "GET /suggest/{resource}", Handle: suggest},
		{Pattern: "GET /search", Handle: search},
		{Pattern: "GET /live", Handle: live},
	}
}
