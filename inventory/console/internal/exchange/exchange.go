// Package exchange has the page of the console for imports of files.
//
// Nothing is kept between its steps: the file travels with the form, compressed, and the API reads it again in
// each step. Files that are too large for that are chosen again.
package exchange

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
	}, Entries: []site.Entry{
		{Label: "Import", Path: "/import", Icon: "upload", Order: 40, Show: func(q *site.Request) bool { return len(q.Importable()) > 0 }},
	}}
}
