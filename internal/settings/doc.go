// Package settings reads the settings of a program from a table: one row per setting with
// its environment variable, aliases, flag, default and description, and a [Value] that
// parses a string into a field of the program's own struct.
//
//	type Settings struct {
//		Port    int
//		Timeout time.Duration
//	}
//
//	func table(s *Settings) []settings.Setting {
//		return []settings.Setting{
//			{Name: "PORT", Default: "8080", Doc: "port to listen on", Value: settings.Int(&s.Port, settings.From(0, 65535))},
//			{Name: "TIMEOUT", Aliases: []string{"DEADLINE"}, Default: "30s", Doc: "…", Value: settings.Duration(&s.Timeout, settings.Above[time.Duration](0))},
//		}
//	}
//
//	s := &Settings{}
//	r := settings.Read(table(s), environ, nil)
//	r.Require(s.Port != 1, "PORT", "is reserved: use another port than $PORT")
//	err := r.Err() // every invalid setting, one to a line
//
// # Design notes
//
// The table is a function of the struct, like the calls of package flag, and not a set of
// struct tags: rows are checked by the compiler, and a setting that needs a parser of its
// own passes a function.
//
// The environment is a map, so tests run in parallel and one process can hold several
// servers.
//
// Errors about a combination of settings use the names that the environment uses, and
// are dropped if one of the settings is invalid by itself: their cause would be a guess.
package settings
