// Package fetch downloads the files that a manifest names, and lets nobody use one whose
// SHA-256 is not the one that the manifest has.
//
//	plan, err := pack.Resolve(given, nil)
//	...
//	for _, f := range plan.Files {
//		if err := fetch.Download(ctx, f, "weather.mcpb", nil); err != nil {
//			return err
//		}
//	}
//
// The file appears under its name at once and complete, or not at all. Until then it
// grows in a hidden file next to it, which a later call takes up where an earlier one
// was cut off. A file that turns out wrong or too large leaves nothing behind.
//
// A manifest is text of a stranger, and its URL is one: by default only https is spoken,
// through no more than five redirects, and only with addresses of the public network. A
// manifest must not make a machine ask its neighbours, or itself.
//
// # Design notes
//
// The address is checked when the connection is made, not when the name is looked up:
// a name may have another address a moment later. No proxy is taken from the
// environment, as the check would then see the proxy's address alone; who needs one
// gives a Transport.
//
// The sum is that of a copy that is made when all is there, and the copy is what gets the
// name. So what an earlier call has written is checked like everything else; and two
// processes that fetch the same file may disturb each other's download, but neither can
// change what the other has checked. Turned down: locks, which differ between systems
// and outlive a crash as files.
//
// A file that was taken up and has the wrong sum is fetched once more from the
// beginning: the first part may have been of another file. Turned down: asking with
// If-Range, which needs a validator to be kept and says less than the sum.
package fetch
