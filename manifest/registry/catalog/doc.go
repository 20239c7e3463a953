// Package catalog shows the servers of a registry as web pages: a list that can be searched, and a page for each
// version with its packages, remotes, launch lines and inputs.
//
//	pages, err := catalog.New(store, nil)
//	if err != nil {
//		return err
//	}
//	handler := registry.NewHandler(store, &registry.Options{Pages: pages})
//
// # Design notes
//
// The pages work without scripts and load nothing from other hosts. Icons of servers are therefore not shown.
//
// A launch line is what package manifest/launch plans for example values. It is quoted for a POSIX shell and not the
// line of launch.Plan, which is for display only, because people paste it. A plan with characters
// that a terminal interprets has no line.
package catalog
