// Package feed follows the changes of an inventory over HTTP, each once and in the order in which
// they were committed, across restarts of the server and of the network:
//
//	err := feed.Follow(ctx, "https://inventory.example.com", token, since, nil, func(c feed.Change) error {
//		return store(c) // with c.Cursor, to continue after it
//	})
//
// A program that copies the inventory reads the cursor first ([Cursor]), then lists all records,
// then follows the changes after the cursor. It does the same after a [GoneError]: the changes that it
// has missed are no longer kept.
package feed
