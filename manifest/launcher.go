package manifest

import "slices"

// Launcher says how packages of one registryType are run. In Package, Unversioned
// and Setup {identifier} stands for the package's identifier, {version} for its
// version and {name} for the identifier without extras in brackets.
type Launcher struct {
	// Command is the program, and what has to follow it: {"docker", "run"}. Empty
	// means that the package is a program itself.
	Command []string
	// Flags come next, each unless runtimeArguments have it: the spelling that is
	// added first, then others of the same meaning.
	Flags [][]string
	// Package names the package, behind runtimeArguments; Unversioned does where the
	// manifest has no version. If it begins with a flag that runtimeArguments have,
	// that and its value are left out.
	Package, Unversioned []string
	// Trailing follows the package, each unless runtimeArguments have it.
	Trailing [][]string
	// Separator stands before packageArguments, if there are any.
	Separator string
	// Setup is a command to run before, with runtimeArguments behind its first two
	// items; SetupUnversioned is it where there is no version. Command then has no
	// runtimeArguments.
	Setup, SetupUnversioned []string
	// Container says that the package sees no environment variables but those that
	// the command names, nor any port that it does not publish.
	Container bool
}

// DefaultLauncher returns how a package of a well-known registryType is run: by the
// program of the runtimeHint if that is known to run such packages (then byHint is
// true), else by the usual one. It returns false for other types.
func DefaultLauncher(registryType, runtimeHint string) (l Launcher, byHint, ok bool) {
	usual := map[string]string{"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx", "cargo": "cargo"}
	program, ok := usual[registryType]
	if !ok {
		return Launcher{}, false, false
	}
	if slices.Contains(programsFor(registryType), runtimeHint) {
		program, byHint = runtimeHint, true
	}
	return launcherOf(program), byHint, true
}

// programsFor are the hints that are mapped. All else is a text of a stranger.
func programsFor(registryType string) []string {
	switch registryType {
	case "npm":
		return []string{"npx", "bunx", "bun", "pnpm"}
	case "pypi":
		return []string{"uvx", "uv", "pipx"}
	case "oci":
		return []string{"docker", "podman"}
	case "nuget":
		return []string{"dnx", "dotnet"}
	case "cargo":
		return []string{"cargo"}
	}
	return nil
}

func launcherOf(program string) Launcher {
	at, plain := []string{"{identifier}@{version}"}, []string{"{identifier}"}
	yes := []string{"--yes", "-y"}
	switch program {
	case "npx":
		return Launcher{Command: []string{"npx"}, Flags: [][]string{{"-y", "--yes"}}, Package: at, Unversioned: plain}
	case "bunx":
		return Launcher{Command: []string{"bunx"}, Package: at, Unversioned: plain}
	case "bun":
		return Launcher{Command: []string{"bun", "x"}, Package: at, Unversioned: plain}
	case "pnpm":
		return Launcher{Command: []string{"pnpm", "dlx"}, Package: at, Unversioned: plain}
	case "uvx":
		return Launcher{Command: []string{"uvx"}, Package: []string{"--from", "{identifier}=={version}", "{name}"}, Unversioned: []string{"--from", "{identifier}", "{name}"}}
	case "uv":
		return Launcher{Command: []string{"uv", "tool", "run"}, Package: []string{"--from", "{identifier}=={version}", "{name}"}, Unversioned: []string{"--from", "{identifier}", "{name}"}}
	case "pipx":
		return Launcher{Command: []string{"pipx", "run"}, Package: []string{"--spec", "{identifier}=={version}", "{name}"}, Unversioned: []string{"--spec", "{identifier}", "{name}"}}
	case "dnx":
		return Launcher{Command: []string{"dnx"}, Package: at, Unversioned: plain, Trailing: [][]string{yes}, Separator: "--"}
	case "dotnet":
		return Launcher{Command: []string{"dotnet", "tool", "exec"}, Package: at, Unversioned: plain, Trailing: [][]string{yes}, Separator: "--"}
	case "cargo":
		return Launcher{
			Setup:            []string{"cargo", "install", "{identifier}", "--version", "={version}", "--locked"},
			SetupUnversioned: []string{"cargo", "install", "{identifier}", "--locked"},
			Package:          plain, Unversioned: plain,
		}
	}
	return Launcher{ // docker, podman
		Command: []string{program, "run"}, Flags: [][]string{{"-i", "--interactive"}, {"--rm"}},
		Package: plain, Unversioned: plain, Container: true,
	}
}
