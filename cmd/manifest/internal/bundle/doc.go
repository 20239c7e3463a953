// Package bundle reads bundle files (.mcpb): archives with a tool server and a manifest.json of
// their own, which says how to start it.
//
//	b, err := bundle.Open("weather.mcpb", file.SHA256, nil) // verified
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	if err := b.Unpack(dir); err != nil {
//		return err
//	}
//	plan, err := b.Resolve(dir, launch.Values{"city": {"Rome"}}, nil)
//	fmt.Print(plan.Consent())
//
// Versions 0.1 to 0.4 of the manifest are read. [Bundle.Form] lists the inputs of its
// user_config, and [Bundle.Resolve] turns them into a plan as package launch does for packages:
// with all missing and invalid values at once, and secrets that are not printed.
//
// # Safety
//
// Open refuses a file with another SHA-256, and an archive that is not plain: names that leave
// the directory or differ in case only, links and other special files, encrypted entries, more
// entries or bytes than the limits. Unpack writes to a new directory, which appears under its
// name only complete. Nothing here runs a command or opens a connection.
//
// # Design notes
//
// Resolve writes the command of the manifest as a package of the kind that package launch
// resolves, with a variable for each reference ${user_config.KEY}. So the rules for values are
// the same in both.
//
// A command that is neither in the bundle nor the runtime of the server's type is a notice and
// not a fault: bundles in use start shells and other launchers.
package bundle
