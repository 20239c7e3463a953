// Package page has the page for imports of files.
//
// Nothing is kept between its steps: the file travels with the form, compressed, and the API reads it again in
// each step. Files that are too large for that are chosen again.
package page

import (
	"embed"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Style: "style-import.css", Routes: []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
	}, Entries: []site.Entry{
		{Label: "Import", Path: "/import", Icon: "upload", Order: 40, Show: func(q *site.Request) bool { return len(importable(q)) > 0 }},
	}, Offers: []site.Offer{{
		Label: "Import a file", Icon: "upload", Path: func(r *records.Resource) string { return "/import?resource=" + r.Name },
		Show: func(q *site.Request, r *records.Resource) bool { return importer.Importable(q.Schema, r) },
	}}}
}

// importable returns the resources whose records the sender may import.
func importable(q *site.Request) []*records.Resource {
	return slices.DeleteFunc(q.Schema.Resources(), func(r *records.Resource) bool {
		return !importer.Importable(q.Schema, r) || !q.May(r.Name, records.RouteCreate|records.RouteChange)
	})
}
