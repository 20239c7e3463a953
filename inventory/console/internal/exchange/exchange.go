// Package exchange has the pages of the console for imports of files and for drift, the differences between
// what devices report and the inventory.
//
// Nothing is kept between the steps of either page: the file travels with the form, compressed, and the API
// reads it again in each step. Files that are too large for that are chosen again.
package exchange

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
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
		{Pattern: "GET /drift", Handle: showDrift},
		{Pattern: "POST /drift", Handle: runDrift},
		{Pattern: "GET /drift/devices", Handle: suggestDevices},
	}
}
