// Package config reads rate limit configuration from YAML files: one domain per file,
// all files of a directory, compiled into one [ratelimit.Ruleset].
//
//	domain: mongo
//	descriptors:
//	  - key: database
//	    value: users
//	    rate_limit: {unit: second, requests_per_unit: 500}
//
// [Parse] reads files in memory, [Load] those of a file system, and [LoadDir] those of
// the directory of RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY:
//
//	c, err := config.LoadDir(config.Dir{Root: "/srv/limits", AppDirectory: "config"}, nil)
//	if err != nil {
//		return err // one line for each fault
//	}
//	err = engine.Use(c.Ruleset)
//
// [Watch] loads a directory and follows its changes:
//
//	err := config.Watch(ctx, dir, nil,
//		func(c *config.Config) {
//			if err := engine.Use(c.Ruleset); err != nil {
//				log.Print(err) // the old rules stay
//			}
//		},
//		func(err error) { log.Print(err) })
//
// A configuration is applied as a whole or not at all. The error is [Faults]: every
// problem of every file, with file, line and column, in a stable order:
//
//	mongo.yaml:5:23: invalid rate limit unit 'seconds': did you mean 'second'?
//	redis.yaml:4:5: config error, unknown key 'ratelimit': did you mean 'rate_limit'?
//
// [Config.Warnings] reports likely mistakes in a valid configuration. Package
// ratelimit/xds uses the same faults for the resources of a discovery server.
//
// # Accepted files
//
// Files that the reference service accepts are accepted, and what it rejects is
// rejected in the same words, to which a hint may be added (REFERENCE.md, 7.2):
//
//   - A misplaced known key is ignored, with a warning.
//   - A string may be written as an integer, a boolean or a date; a floating-point number
//     or an integer beyond 64 bits must be quoted.
//   - Booleans are true, yes, y and on, or false, no, n and off.
//   - Anchors, aliases and merge keys work. Of several values of one key the last counts,
//     be it that of a merge key, and the fields of two rate_limit are joined. There are
//     warnings, except where a key replaces one of a merge key before it.
//   - The name of a file is its path with "." for "/".
//
// There are five differences. Only files whose names end in ".yaml" or ".yml" are read. A second document in a file is rejected unless it is
// empty. With share_threshold the value must end in "*". Numbers in metadata must be
// finite. The directories in which Kubernetes keeps the versions of a mounted ConfigMap
// are skipped, so that its files do not count twice.
//
// # Triggers of Watch
//
// By default, Watch loads the files after a swap of the root: a change of the entry
// RUNTIME_ROOT in its parent directory, such as renaming a link over it. Changes in the
// directories below have no effect until then, so that a release can be prepared there.
// If the root is a link through "..data", as in a mounted ConfigMap, a swap of "..data"
// counts too.
//
// With [WatchOptions].WatchContents, the trigger is a write, create, chmod, remove or
// rename in the directory of the files or in a directory below. This is the mode for a
// ConfigMap that is mounted as the directory of the files.
//
// In both modes it is a trigger when a watched directory is removed, created or
// replaced by another one on its path. A missing directory of files is waited for. In
// the default mode, a directory that appears without a swap of the root may still be
// incomplete, so changes in it count until the next swap. Changes of a file elsewhere
// that a link in the directory points to are not noticed (REFERENCE.md, 7.3).
//
// # Design notes
//
// The keys of a rule are those of [ratelimit.Fields], or of Options.Fields, beside the few that make the tree
// of rules. Known keys, the hint where a misplaced key belongs, and "did you mean" all follow from these lists.
//
// Files are decoded from trees of nodes, not into structs, because only nodes have a
// line and column, and decoding must go on after the first problem. Scalars are still
// converted by the YAML library, so that it alone defines what is a boolean or a
// number. Syntax errors are those of the library: with its line, and only the first of
// a file.
//
// The nesting, the values that aliases add and the file size are bounded, because the
// library bounds the expansion of aliases in its own decoding only.
//
// [ratelimit.Compile] alone validates rules, whatever their source; this package finds
// the line of what Compile reports. For a field that a rule has through an alias or a
// merge key, that is the position of the alias or merge key.
//
// A misspelled key is reported and then read as the key that was probably meant.
// Otherwise "domian" would also be reported as a missing domain, and nothing below a
// misspelled "descriptors" would be checked.
//
// Watch sets up its watches before the first load; the other order would miss a change
// in between. It does not compare contents: loading is cheap, and operators monitor the
// numbers of successful and failed loads, which the reference service counts in the
// same way. A load during a change may see a mixture or fail; the end of the change
// triggers another one.
package config
