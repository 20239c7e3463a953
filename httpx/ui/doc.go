// Package ui is the shared look of the web pages of this module: a layout, a style, components, and the
// scripts that pages load. Pages are made on the server with html/template, and work without
// JavaScript.
//
//	kit, err := ui.New(&ui.Options{Product: "Inventory", Prefix: "/console", Templates: []fs.FS{pages}})
//	mux.Handle("/console/assets/", http.StripPrefix("/console/assets", kit.Assets()))
//	handler := kit.Protect(mux)
//	...
//	return kit.Page(w, r, http.StatusOK, &ui.Page{Template: "devices.html", Title: "Devices", Data: devices})
//
// # Templates
//
// Each file of Options.Templates is a page, whose template "main" is the content; files that begin with
// an underscore define templates for all pages. Data of the page is .Data of a [View]. Templates of this
// package, for everybody: "icon", "badge", "meter", "empty", "problems", "token" and others, which the
// gallery shows ([Kit.Gallery]). A page may define "head" for further scripts, as assets.
//
// # Security
//
// Pages load nothing from other hosts and have no inline scripts or styles ([Policy]). Values are
// escaped by html/template. Requests that change something need the token of [Kit.Protect], as the form
// value [TokenField] or the header [tokenHeader], and the page's own origin. Nothing is kept in the
// storage of the browser; the chosen theme is a cookie.
//
// # Design notes
//
// htmx loads parts of pages into others: lists answer to what is typed, and pages follow changes. Its
// evaluation of expressions, its inline style and its history cache are switched off. uPlot draws charts
// of measurements and cytoscape maps; only pages that need them load them.
//
// The style is written down once: style-1-tokens.css has colours, space and type as custom properties,
// and nothing else has a colour.
package ui
