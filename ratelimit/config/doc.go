// Package config reads rate limit configuration from YAML: one domain per file,
// as many files as a directory holds, compiled into one [ratelimit.Ruleset].
//
//	domain: mongo
//	descriptors:
//	  - key: database
//	    value: users
//	    rate_limit: {unit: second, requests_per_unit: 500}
//
// An engine takes it as it is:
//
//	c, err := config.LoadDir("/srv/runtime_data/current", "ratelimit", "config", nil)
//	if err != nil {
//		return err // each fault on a line
//	}
//	engine.Use(c.Ruleset)
//
// [Parse] takes files that are in memory, [Load] those of a file system and
// [LoadDir] those of the directory that the settings RUNTIME_ROOT,
// RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY make up. None of them keeps
// anything, so calling it again is how to reload.
//
// Either everything is right and there is a [Config], or nothing is used and the
// error is [Faults]: every problem of every file, each with its file, line and
// column, in an order that depends on nothing but the files:
//
//	mongo.yaml:5:23: invalid rate limit unit 'seconds': use second, minute, hour, day, week, month or year
//	redis.yaml:4:5: config error, unknown key 'ratelimit': did you mean 'rate_limit'?
//
// What loads but is hardly meant is in [Config.Warnings].
//
// # What is accepted
//
// What the reference service accepts loads here, and what it refuses is refused
// with its words (reference 1.15); a hint may follow them. In particular:
//
//   - A known key in the wrong place is ignored. Here it is a warning as well.
//   - Text may be written as an integer or a boolean; a floating-point number,
//     a date or an integer beyond 64 bits has to be quoted.
//   - Booleans may be spelled true, yes, y and on, or false, no, n and off.
//   - Anchors, aliases and merge keys work.
//   - Every file under the directory is read, whatever its extension; its name
//     is its path with "." for "/".
//
// It differs in these: a file with a second document that is not empty is
// refused, where the reference service ignores all but the first;
// share_threshold needs a value that ends in "*", as the specification has it; a
// number in metadata has to be finite; and the directories in which Kubernetes
// keeps the versions of a mounted ConfigMap are not read, so that its files
// don't count twice.
//
// # Design notes
//
// Files are decoded by walking yaml.Node trees rather than into structs: only
// nodes know their line and column, and only a walk of our own can go on after
// the first problem. Single scalars are still decoded by the YAML library, so
// that what is a boolean or a number is decided in one place.
//
// The walk expands aliases, which the library bounds only in its own decoding.
// Here what aliases add is bounded by nodes visited, nesting by depth, and
// everything else by the size of the file.
//
// The meaning of the rules is checked by [ratelimit.Compile] alone, whichever
// way they came; this package only finds the place in the file for what Compile
// says of a place in the tree. That place is in the rule that is at fault: where
// a rule has a field through an alias or a merge key, the place is the alias or
// the merge key. What is wrong with the YAML itself is reported where it stands.
//
// A misspelled key is refused, and then read as what it was probably meant to
// be: otherwise "domian" would be reported as a missing domain too, and nothing
// below "descriptor" would be checked at all.
//
// Turned down: a schema language, which would have its own words for what the
// reference service says in its; and watching for changes here, which needs
// nothing of this package but that it can be called again: ratelimit/files does it.
package config
