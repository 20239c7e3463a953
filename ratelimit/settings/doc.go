// Package settings reads what a rate limit server is told by its environment:
// addresses, where the configuration lies, how and where to count, what to tell of
// it.
//
//	s, err := settings.Parse(map[string]string{"GRPC_PORT": "9081", "REDIS_URL": "redis:6379"})
//
// Names and defaults are those of the specification and of the reference
// service (reference 1.18), so that an environment written for that one works. A
// setting that the two call differently has both names: KVSTORE_URL and REDIS_URL
// are one setting, and so are USE_SCRAPE and USE_PROMETHEUS. To set both to
// different values is an error.
//
// [Table] lists all settings for documentation, [Effective] shows what they are in
// one environment and why, and [Warnings] finds variables that look like settings
// and are none, and settings without effect.
//
// # Values
//
// An empty value counts as unset. Only HOST, DEBUG_HOST, GRPC_HOST and
// RUNTIME_APPDIRECTORY may be empty: an empty host stands for all addresses, an
// empty directory for none. The reference service refuses to start if the value of
// a number, a switch or a duration is empty, and takes every empty text as it is;
// but templates that leave values empty mean "not set".
//
// Numbers, switches and durations are spelled as in Go: 10, 0x10; true, 1, false,
// 0; 1m30s, 150us. Words are known in upper and lower case, and end up as the
// constants here spell them. Lists of pairs are name:value,name:value; each may
// have angle brackets around it, as the specification writes them, and a value in
// brackets may contain commas.
//
// # Errors
//
// All bad variables are reported at once, one to a line, by the names that the
// environment has for them, with what would be right. What no setting in use needs
// may be incomplete, but not malformed. Passwords, headers and whatever stands
// before an "@" are not shown.
//
// # Design notes
//
// One struct whose tags describe the settings is the only place where they are
// described; parsing, documentation and tests read the same tags:
//
//	env         the variable; for a key-value store, what its variables begin with
//	alias       other names of it, with blanks between them
//	envDefault  its default; for a key-value store, a default that only it has
//	doc         what it means
//	group       the heading of this field and those that follow
//	min max     bounds
//	above       a bound that is not in reach itself
//	oneof       the words that it may be; synonyms behind "="
//	shape       what kind of text it is, see checkText
//	sep         what stands between name and value of a pair
//	empty       "text": the empty value is a value
//	secret      "true": never to be shown; "url": not what stands before an "@"
//
// The tags are walked here and not by a library: libraries report fields where
// people know variables, and have neither two names for one setting nor a word on
// where a value comes from.
//
// The environment comes as a map. Nothing here looks at that of the process, so
// tests run in parallel and several servers fit into one program.
//
// Where the specification and the reference service disagree, the specification
// wins: a pool that is empty opens one more connection (CREATE), after 1s. Two
// defaults are worked out and not fixed: BACKEND_TYPE, and KVSTORE_SOCKET_TYPE,
// which is unix for a path only. KVSTORE_PERSECOND_URL has no default, because
// two stores are hardly meant to be at an address that nobody gave.
//
// A value that Kubernetes sets by itself for a service of an unlucky name
// (STATSD_PORT=tcp://...) is refused with an explanation, and not ignored: whether
// the service was meant as the address is not for us to guess.
//
// Settings that would be read and then ignored are not in the table: a name that
// is not known yet is better left unknown than accepted without effect. The one
// exception is KVSTORE_PIPELINE_LIMIT, which is without effect in the
// specification too, and warned about.
package settings
