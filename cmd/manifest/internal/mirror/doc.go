// Package mirror copies a registry into a store: all of it the first time, and then what has changed.
//
//	source, err := client.New("https://registry.example.com", nil)
//	if err != nil {
//		return err
//	}
//	result, err := mirror.Run(ctx, source, store, nil)
//
// Each page is stored together with the position after it, in one transaction. So a run that is
// interrupted at any point, by a signal or a loss of power, continues where it was. Deleted versions are
// kept, with their status.
//
// # Design notes
//
// A pass requests what was updated since the pass before it began, or since the newest update in that, whichever
// is earlier, less an overlap. The overlap covers clocks that differ and changes that a registry
// shows late. Versions that come again replace themselves.
//
// A registry may refuse a cursor that is old. The pass then begins again.
//
// What a registry removes without a trace stays in the mirror: the API has no means to learn of it.
//
// Source is an interface, so that this package needs no HTTP client. *client.Client implements it.
package mirror
