// Package cli is what every program under cmd/ shares: a context that ends with
// the first signal, exit codes, and a main that is one line above a tested
// function. Those that tell users what is wrong with a file also share how they
// show it ([Excerpt], [Printable]).
//
//	func main() { cli.Main("ratelimitd", run) }
//
//	func run(ctx context.Context, env cli.Env) error {
//		flags := flag.NewFlagSet("ratelimitd", flag.ContinueOnError)
//		config := flags.String("config", "", "directory of configuration `files`")
//		if err := env.Parse(flags); err != nil {
//			return err
//		}
//		if *config == "" {
//			return cli.Usagef("-config is missing: name the directory of the configuration files")
//		}
//		return serve(ctx, *config, env.Stdout)
//	}
//
// A test calls [Run], or run itself, with an [Env] of its own: arguments,
// environment and streams are data, so such tests run in parallel.
//
// Exit codes: 0 for success, for a request for help and for a program that ended
// because it was told to; 1 for failure; 2 for wrong usage; any other code that
// an error brings along in a method ExitCode() int.
//
// # Design notes
//
// The signals are read from a channel rather than with signal.NotifyContext:
// that one goes deaf to a second signal until somebody calls its stop function,
// and the second signal is what a user sends to a program that hangs while it
// shuts down.
//
// The environment is a map and not a func(string) string: settings are
// documented and checked as a whole, and the reader of settings wants all of it.
//
// Parse holds back what the flag set prints until it knows why: help that was
// asked for goes to the standard output, where it can be paged and searched;
// an error goes to the standard error stream.
//
// No command line framework: the specified programs have flags with single dashes,
// and package flag reads those. The one program that has commands finds them in a
// table of its own.
package cli
