// Package files is configuration that comes from files and follows them: it loads
// the YAML documents of a directory, watches for changes and loads them again.
//
//	source := files.Source{Root: "/srv/runtime_data/current", AppDirectory: "config"}
//	err := files.Watch(ctx, source, nil,
//		func(c *config.Config) { engine.Use(c.Ruleset) },
//		func(err error) { log.Print(err) })
//
// Either all files are right and loaded is called, or failed is, with everything
// that is wrong. What was in use before is the caller's to keep, and simply stays.
// Each trigger leads to one call of one of them, whether or not anything is
// different, as the reference service counts it.
//
// # What triggers a load
//
// By default it is a swap of the root (specification, Reload triggers): a change of
// exactly the name RUNTIME_ROOT in its parent directory, be it that a link is
// renamed over it or that it is removed and made again. What happens in the
// directories below has no effect until then, so a release can be put together in
// peace. If the root is a link through "..data", as in a mounted ConfigMap, the swap
// of that counts as well.
//
// With [Options].WatchContents it is a write, create, chmod, remove or rename in the
// directory of the files, or in one of those in it.
//
// In both ways it is a trigger that the directory being watched goes, comes, or that
// its path leads to another one. And in both a directory of files that is missing is
// waited for. With the default way, one that comes without a swap of the root may
// not be complete yet, so changes in it count until the root is swapped. A root that
// is made as a directory, and not as a link, is taken to be filled in place too.
//
// Not seen is a change of a file elsewhere that a link in the directory leads to.
//
// # Kubernetes
//
// The files of a mounted ConfigMap are links through "..data", and an update renames
// another link over that. Mount it as the directory of the files and set
// WatchContents, or make the root a path through "..data". Whether files that begin
// with a dot are ignored makes no difference to this.
//
// # Differences from the reference service
//
// With an empty RUNTIME_SUBDIRECTORY and a watch of the root, it loads nothing and
// counts a success (reference 1.15); here the files are loaded. Of directories in
// the directory it reads the files but does not see changes; here it does.
//
// # Design notes
//
// Reading YAML is in ratelimit/config and watching directories in ratelimit/watch.
// This package joins them, so that who only reads configuration does not depend on a
// file watcher, and who watches certificates does not depend on YAML.
//
// The watch is set up before the first load. The other order has a gap in which a
// change is missed, and then nobody loads it until the next one.
//
// Nothing is compared with what is in use. Loading is cheap, and the number of
// successes and failures is one that operators watch.
//
// A load in the middle of a change gives a mixture or an error. Neither is avoided
// beyond a short wait for quiet, since the end of the change is a trigger too.
package files
