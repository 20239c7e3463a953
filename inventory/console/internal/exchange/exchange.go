// Package exchange has the pages of the console for imports of files and for drift, the differences between
// what devices report and the inventory.
//
// Nothing is kept between the steps of either page: the file travels with the form, compressed, and the API
// reads it again in each step. Files that are too large for that are chosen again.
package exchange

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
		{Pattern: "GET /drift", Handle: showDrift},
		{Pattern: "POST /drift", Handle: runDrift},
		{Pattern: "GET /drift/devices", Handle: suggestDevices},
	}}
}
