// Package cli is shared by the programs under cmd/: a context that ends with the first signal,
// exit codes, and a main of one line over a tested function. [Excerpt] and [Printable] show the
// position of an error in a file.
//
//	func main() { cli.Main("ratelimitd", run) }
//
//	func run(ctx context.Context, env cli.Env) error {
//		c := &cobra.Command{Use: "ratelimitd [flags]", Long: "ratelimitd serves rate limits.", Args: cobra.NoArgs}
//		config := c.Flags().String("config", "", "directory of configuration `files`")
//		c.RunE = func(c *cobra.Command, _ []string) error {
//			if *config == "" {
//				return cli.Usagef("-config is missing: name the directory of the configuration files")
//			}
//			return serve(c.Context(), *config, env.Stdout)
//		}
//		return env.Execute(ctx, c)
//	}
//
// A test calls [Run], or run itself, with an [Env] of its own: arguments,
// environment and streams are data, so such tests run in parallel.
//
// Exit codes: 0 for success, help, and a program that was stopped by a signal; 1 for failure; 2 for
// wrong usage; or the code of an error with a method ExitCode() int.
//
// # Design notes
//
// Signals are read from a channel: signal.NotifyContext ignores a second signal until its stop
// function is called, and users send a second signal to a program that hangs during shutdown.
//
// The environment is a map, not a lookup function, because the reader of settings checks all of it.
//
// Programs are commands of cobra, which prints help and completes arguments in shells. Execute gives single-dash
// flags such as -config the second dash that cobra needs, since scripts and manuals use one dash.
package cli
