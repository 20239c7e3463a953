// Package fetch downloads the files that a manifest names, and installs only a file with
// the SHA-256 of the manifest.
//
//	plan, err := launch.ResolvePackage(pack, given, nil)
//	...
//	for _, f := range plan.Files {
//		if err := fetch.Download(ctx, f, "weather.mcpb", nil); err != nil {
//			return err
//		}
//	}
//
// A file appears under its name only when it is complete. Until then it grows in a hidden
// file next to it, which a later call resumes. A wrong or too large file is
// removed.
//
// The url comes from a manifest, which is untrusted: by default only https is used, with at
// most five redirects, and only addresses of the public network are connected to, so that
// a manifest cannot make a machine send requests to itself or to its neighbors
// (manifest/REFERENCE.md, 10).
//
// # Design notes
//
// The address is checked when the connection is made, not when the name is resolved,
// because a name may have another address a moment later. Proxies of the environment are
// not used, because the check would see only the proxy's address; use Options.Transport
// for one.
//
// The checksum is computed while the complete file is copied, and the copy is installed.
// So the bytes of an earlier call are verified too, and of two processes that download the
// same file neither can change what the other one has verified. Rejected: locks, which
// differ between systems and remain as files after a crash.
//
// A resumed file with a wrong checksum is downloaded once more from the beginning, because
// the first part may be of another file. Rejected: If-Range, which needs a stored validator
// and proves less than the checksum.
package fetch
