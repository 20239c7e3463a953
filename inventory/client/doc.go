// Package client uses an inventory over HTTP with the Go types of its records:
//
//	c, err := client.New("https://inventory.example.com", &client.Options{Token: token})
//	for d, err := range client.List[inventory.Device](ctx, c, url.Values{"status": {"offline"}}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(d.Hostname)
//	}
//
// [Get], [Create], [Patch], [Replace] and [Delete] are for one record, [CreateAll], [PatchAll] and [DeleteAll] for many in
// one transaction, and [Client.Import] for files. The type says the resource; those of a program work like those of
// package inventory if [Options].Schema has them. [Client.Do] and [Client.Open] are for all other operations.
//
// # Fields that the type does not have
//
// A server may have fields that the Go type lacks: those that its program adds ([records.Extend]), custom fields, and those
// of later versions. They are in [records.Base].Extra by name, with the Go type of their kind if Options.Schema has them,
// else as a string, an int64, a float64, a bool or a []string. [Create] and [Replace] send them too, so that a record that
// is read, changed and stored loses none:
//
//	d, err := client.Get[inventory.Device](ctx, c, id)
//	d.Status, d.Extra["owner"] = inventory.DeviceActive, "noc"
//	d, err = client.Replace(ctx, c, d)
//
// # Conflicts
//
// Replace stores nothing if the record was changed since it was read, and so do the others with [Edit].Version: the error is
// an [*Error] with the Status 412. Read the record again, and repeat the change. [Patch] without a version changes its
// fields whatever the others are.
//
// # Failures
//
// A request is sent again after a failed connection and after a 5xx, with growing waits, and after a 429 when the server
// says; [Options] bounds how often and how long, and the context bounds it all. Records are created with an
// Idempotency-Key, so that a repeated request creates nothing twice. A request that is not safe to repeat, as other POST
// requests of Client.Do, is sent once. [Error] says what the server refused, for programs and for people. If the response
// to an earlier attempt of a change was lost, Error.Unsure says so.
//
// # Changes
//
// To copy an inventory and to stay in step with it: read the cursor ([Client.Cursor]), list the records, and follow the
// changes after the cursor ([Client.Changes]). Store the Cursor of each change that was handled, to continue there:
//
//	for change, err := range c.Changes(ctx, cursor, "devices") {
//		if err != nil {
//			return err // with the Status 410: start over
//		}
//		…
//	}
//
// # Design notes
//
// Functions such as [List] are not methods, because methods have no type parameters.
//
// [Patch] takes a map and not a record: a zero value of a struct does not say whether it was set.
//
// A page of a list is read as a whole before its records are, so that a slow program does not hold a connection, and a lost
// connection repeats a page and not the list.
package client
