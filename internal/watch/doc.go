// Package watch reports changes in directories: files that are written, created,
// removed, renamed or get other attributes, and directories that are created, removed
// or replaced.
//
//	err := watch.Dirs(ctx, func() []string { return []string{"/etc/limits"} }, nil, reload)
//
// The first call of reload comes when the directories are watched, so that no change
// is missed. A series of events leads to one call, a continuous stream to one a second.
//
// # How files are replaced
//
// Directories are watched and not files, because files are usually replaced: an editor
// renames a new file over the old one, and a watch of the file would stay with the old
// one. These changes are reported:
//
//   - a write to a file;
//   - a file that is renamed over another;
//   - the swap of a link in the directory, which is how Kubernetes updates a mounted
//     ConfigMap: the files are links through "..data", and only that link is replaced;
//   - within [Options].Poll, the swap of a link on the path of the directory, and the
//     directory being removed or created.
//
// Not reported are changes of a file elsewhere that a link in the directory points to,
// and changes on file systems without events, such as most network file systems.
//
// # Design notes
//
// Events are fast, but they can't report that a link above a directory was swapped.
// Therefore each path is also checked every second. Watching every directory and link
// on the path instead would need more state and would still miss mounts.
//
// When a directory is lost, or other directories are to be watched, a new set of
// watches replaces the old one. This costs a few system calls in a rare case, and needs
// no code that repairs a set. If no new set can be made, the old one stays and the
// attempt is repeated. All directories of a set share one inotify instance, of which a
// Linux user has 128 by default.
//
// Events are received on a goroutine of their own, because fsnotify can hold its lock
// while it delivers an error: calling it from the receiving goroutine could deadlock.
//
// Not done: watching directories below others, which the caller selects with find; and
// comparing contents, which the caller can do after loading them.
package watch
