// Package lists has the pages of the console for lists of records, searches, exports, and the feed that pages follow.
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
	return nil
}
