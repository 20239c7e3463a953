package watch

import "github.com/fsnotify/fsnotify"

// Op is what happened to a name: a set, since systems put several things into one
// notice. Test it with &.
type Op uint32

// The operations.
const (
	Create = Op(fsnotify.Create) // the name is new, or something was renamed to it
	Write  = Op(fsnotify.Write)  // the file was written to or cut off; it may be half written
	Remove = Op(fsnotify.Remove) // the name is gone
	Rename = Op(fsnotify.Rename) // the name is gone: what had it has another one now
	Chmod  = Op(fsnotify.Chmod)  // mode, owner, times or number of links changed
)
