// Package settings reads what a rate limit server is told by its environment:
// addresses, where the configuration lies, how to count.
//
//	s, err := settings.Parse(map[string]string{"GRPC_PORT": "9081", "SHADOW_MODE": "true"})
//
// Names and defaults are those of the specification and of the reference
// service, so that an environment written for that one works. [Table] lists them
// all for documentation.
//
// # Design notes
//
// One struct whose tags hold name, default and meaning is the only place where a
// setting is described; documentation and tests read the same tags.
//
// The environment comes as a map. Nothing here looks at that of the process, so
// tests run in parallel and several servers fit into one program.
//
// Settings that would be read and then ignored are not in the table: a name that
// is not known yet is better left unknown than accepted without effect.
package settings
