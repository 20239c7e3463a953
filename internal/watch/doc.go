// Package watch tells when directories change: that files in them were written,
// created, removed, renamed or had their attributes changed, that a directory came
// into being or went, and that a path leads to another directory now.
//
//	err := watch.Dirs(ctx, []string{"/etc/tls"}, nil, reload)
//
// The first call of reload comes when the watch is set up, so what is loaded by it
// has no gap before the first change that is told. The calls never overlap. Events
// that belong together make one call, a stream of them makes about one a second, and
// when the system drops notices because there are too many of them, that counts as a
// change too.
//
// # How files are replaced
//
// Directories are watched and never files, because files that matter are not
// written to but replaced: an editor renames a new one over the old, and the watch
// of a file would stay with what was there before. These are seen:
//
//   - a write to a file, complete or not: the next event leads to another call;
//   - a file that is renamed over another;
//   - the swap of a link in the directory, which is how Kubernetes updates what it
//     mounts: the files are links through "..data", and only that link is replaced;
//   - the swap of a link that leads to the directory, anywhere on its path, within
//     [Options].Poll;
//   - the directory being removed, and coming back, within [Options].Poll.
//
// Not seen are changes of a file outside that a link in the directory leads to,
// and what happens on a file system that gives no notices, as most that are shared
// over a network give none of what others do.
//
// # Design notes
//
// Notices say quickly what happens in a directory; whether its path still leads to
// it, they can't say, since a link anywhere above may be swapped. So each path is
// looked up again every second. The alternative, to watch every directory and
// every link on the way, needs a state for each and still misses mounts.
//
// A set of watches is never repaired. When one of them is lost, or other
// directories are asked for, a new set takes its place. It costs a few system calls
// at a change of directories, which is rare, and there is one way to get into a
// state instead of many. It also takes one more of the
// notification instances of the system, for a moment; when there is none left, the
// old set goes on and the attempt is repeated.
//
// All directories of one call share one such instance: a system has few of them, by
// default 128 for a user.
//
// Dirs blocks and calls back instead of returning something to be closed: it can't
// be left half started, and nothing runs when it has returned.
//
// Turned down: watching all directories below one. Which of them matter is for the
// caller to say, with DirsFunc. And reading contents in order to leave out changes
// that change nothing: who loads them can tell, and may have to count the attempt.
package watch
