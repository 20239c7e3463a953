// Package feed follows the changes of an inventory, each once and in the order in which they were committed: over HTTP,
// across restarts of the server and of the network,
//
//	err := feed.Follow(ctx, "https://inventory.example.com", token, since, nil, func(c feed.Change) error {
//		return store(c) // with c.Cursor, to continue after it
//	})
//
// and in the process of the inventory itself, by the same cursors:
//
//	for c, err := range feed.Changes(ctx, store, since) {
//
// A program that copies the inventory reads the cursor first ([Cursor]), then lists all records,
// then follows the changes after the cursor. It does the same after a [GoneError]: the changes that it
// has missed are no longer kept.
package feed
