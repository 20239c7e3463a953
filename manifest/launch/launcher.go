package launch

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Launcher describes how packages of one registryType are run (REFERENCE.md, 8.2). In Package,
// Unversioned and Setup, {identifier} is replaced by the package's identifier, {version}
// by its version and {name} by the identifier without extras in brackets.
type Launcher struct {
	// Command is the program and the words that must follow it, such as {"docker", "run"}.
	// Empty means that the package is a program itself.
	Command []string
	// Flags come next, each unless it is among the runtimeArguments: the spelling that is
	// added first, then others of the same meaning.
	Flags [][]string
	// Package names the package, after the runtimeArguments. Unversioned does if the
	// manifest has no version. If the first word is a flag that is among the
	// runtimeArguments, that and the second word are omitted.
	Package, Unversioned []string
	// Trailing follows the package, each unless it is among the runtimeArguments.
	Trailing [][]string
	// Separator precedes packageArguments, if there are any.
	Separator string
	// Setup is a command to run before, with the runtimeArguments after its second word.
	// SetupUnversioned is used if the manifest has no version. Command has no
	// runtimeArguments then.
	Setup, SetupUnversioned []string
	// Container states that the package gets only the environment variables that the
	// command names and the ports that it publishes.
	Container bool

	syntax   *syntax  // of runtimeArguments, which are unchanged if it is nil
	registry []string // the spellings of the flag for another registry, or nil
	foreign  bool     // the runtimeArguments are those of another program
}

// beginning returns the words that precede the runtimeArguments.
func (l *Launcher) beginning() []string {
	if len(l.Setup) > 0 {
		return l.Setup[:min(2, len(l.Setup))]
	}
	return l.Command
}

// knownLaunchers returns how packages of a registryType can be run: by the default program, then by others, of which
// the last way of pypi is chosen by an argument. Other values of runtimeHint are never run.
func knownLaunchers(registryType string) []Launcher {
	versioned, unversioned := []string{"{identifier}@{version}"}, []string{"{identifier}"}
	switch registryType {
	case "npm":
		npm := func(command, options, danger string) Launcher {
			return Launcher{
				Command: strings.Fields(command), Package: versioned, Unversioned: unversioned, registry: []string{"--registry"},
				syntax: &syntax{options: options, danger: danger, anyDash: true, leading: strings.Contains(command, " ")},
			}
		}
		npx := npm("npx", npxOptions, "runs other code or takes the package from elsewhere")
		npx.Flags, npx.syntax.eager = [][]string{{"-y", "--yes"}}, true // of npm 7 and later, which reads all settings of npm
		return []Launcher{
			npx,
			npm("bunx", bunOptions, "takes the package from elsewhere"),
			npm("bun x", bunOptions, "takes the package from elsewhere"),
			npm("pnpm dlx", pnpmOptions, "takes the package from elsewhere or runs other code"),
		}
	case "pypi":
		pypi := func(command, flag, options string, registry ...string) Launcher {
			return Launcher{
				Command: strings.Fields(command), registry: registry,
				Package: []string{flag, "{identifier}=={version}", "{name}"}, Unversioned: []string{flag, "{identifier}", "{name}"},
				syntax: &syntax{
					options: options, danger: "takes the package or its dependencies from elsewhere", combined: true, leading: command != "uvx",
				},
			}
		}
		return []Launcher{
			pypi("uvx", "--from", uvOptions, "--default-index", "--index-url", "-i"),
			pypi("uv tool run", "--from", uvOptions, "--default-index", "--index-url", "-i"),
			pypi("pipx run", "--spec", pipxOptions, "--index-url", "-i", "--pip-args"),
			pypi("uv run", "--with", uvRunOptions+uvOptions, "--default-index", "--index-url", "-i"),
		}
	case "oci":
		oci := func(program, options string) Launcher {
			return Launcher{
				Command: []string{program, "run"}, Flags: [][]string{{"-i", "--interactive"}, {"--rm"}}, Container: true,
				Package: unversioned, Unversioned: unversioned,
				syntax: &syntax{
					options: options, danger: "gives the container access to this machine",
					combined: true, dashValues: true, falseFlags: true, leading: true,
				},
			}
		}
		return []Launcher{oci("docker", grammar.DockerOptions), oci("podman", grammar.DockerOptions+grammar.PodmanOptions)}
	case "nuget":
		nuget := func(command string) Launcher {
			return Launcher{
				Command: strings.Fields(command), Package: versioned, Unversioned: unversioned,
				Trailing: [][]string{{"--yes", "-y"}}, Separator: "--", registry: []string{"--source"},
				syntax: &syntax{
					options: dotnetOptions, danger: "takes the package from elsewhere", mixed: true, strict: true, leading: command != "dnx",
				},
			}
		}
		return []Launcher{nuget("dnx"), nuget("dotnet tool exec")}
	case "cargo":
		return []Launcher{{
			Setup:            []string{"cargo", "install", "{identifier}", "--version", "={version}", "--locked"},
			SetupUnversioned: []string{"cargo", "install", "{identifier}", "--locked"},
			Package:          unversioned, Unversioned: unversioned,
			syntax: &syntax{options: cargoOptions, danger: "runs other code", combined: true, mixed: true, single: true, leading: true},
		}}
	}
	return nil
}

// DefaultLauncher returns how packages of a well-known registryType are run: by the
// program of the runtimeHint if that is known to run them (byHint is true), else by the
// default one. ok is false for other types.
func DefaultLauncher(registryType, runtimeHint string) (l Launcher, byHint, ok bool) {
	known := knownLaunchers(registryType)
	if known == nil {
		return Launcher{}, false, false
	}
	hinted := slices.IndexFunc(known, func(l Launcher) bool { return l.beginning()[0] == runtimeHint })
	return known[max(0, hinted)], hinted >= 0, true
}

// defaultLauncher returns the default launcher of a package. uv has two ways to run one,
// and the first argument decides.
func defaultLauncher(p *manifest.Package) (l Launcher, byHint, ok bool) {
	label := strings.ToLower(p.RegistryType)
	l, byHint, ok = DefaultLauncher(label, orElse(p.RuntimeHint, ""))
	if args := p.RuntimeArguments; ok && l.Command != nil && l.Command[0] == "uv" && len(args) > 0 && orElse(args[0].Value, "") == "run" {
		known := knownLaunchers(label)
		l = known[len(known)-1]
	}
	return l, byHint, ok
}

// launcher chooses how a package is run. origin is the key that decided.
func (r *resolver) launcher(p *manifest.Package) (l Launcher, origin string, ok bool) {
	if l, ok := r.opts.Launchers[p.RegistryType]; ok {
		return l, "", true
	}
	label, hint := strings.ToLower(p.RegistryType), orElse(p.RuntimeHint, "")
	l, byHint, ok := defaultLauncher(p)
	if !ok {
		r.manifestFault("/registryType", "use "+grammar.Alternatives(grammar.RegistryTypes()), "no launcher for packages of registryType %s", jsonpos.Quote(p.RegistryType))
		return l, "", false
	}
	if byHint {
		return l, "/runtimeHint", true
	}
	if hint != "" {
		l.foreign = len(p.RuntimeArguments) > 0
		r.notice(SeverityWarning, "/runtimeHint", "runtimeHint %s is ignored, because it is not a known program for %s packages", jsonpos.Quote(hint), label)
	}
	return l, "/registryType", true
}

// reference names a package for a launcher.
type reference struct {
	label               string // the registryType in lower case, "" for launchers of the program
	written             string // the identifier as it is in the manifest
	identifier, version string
	pinned              bool // one version is named
	based               bool // the registry is part of the identifier
}

// newReference returns how the manifest names a package.
func newReference(p *manifest.Package) reference {
	f := reference{label: strings.ToLower(p.RegistryType), written: p.Identifier, identifier: p.Identifier, version: orElse(p.Version, "")}
	if f.version == "latest" {
		f.version = "" // which launchers take for it, with a notice that no version is pinned
	}
	f.pinned = f.version != ""
	if f.label == "oci" {
		image := grammar.NewImage(f.identifier, f.version, orElse(p.RegistryBaseURL, ""))
		f.identifier, f.pinned, f.based = image.Reference, image.Pinned, image.Based
	}
	return f
}

// names reports whether a word names the package by the rules of its registryType, and
// with which version.
func (f reference) names(word string) (version string, own bool) {
	switch f.label {
	case "oci":
		repository, version := imageParts(word)
		written, _ := imageParts(f.written)
		named, _ := imageParts(f.identifier)
		return version, repository == named || repository == written
	case "pypi":
		end := strings.IndexAny(word, "[=<>!~;@ ")
		if end < 0 {
			end = len(word)
		}
		name, _, _ := strings.Cut(f.identifier, "[")
		rest := word[end:]
		if _, after, found := strings.Cut(rest, "]"); found && strings.HasPrefix(rest, "[") {
			rest = after
		}
		return strings.TrimLeft(rest, "=@ "), pythonName(word[:end]) == pythonName(name)
	case "nuget":
		name, version, _ := strings.Cut(word, "@")
		return version, strings.EqualFold(name, f.identifier)
	}
	rest, found := strings.CutPrefix(word, f.identifier)
	version, at := strings.CutPrefix(rest, "@")
	return version, found && f.identifier != "" && (rest == "" || at)
}

// pythonName returns the normal form of the name of a Python package.
func pythonName(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return c == '-' || c == '_' || c == '.' }), "-")
}

// imageParts returns the name of an image in full, and its digest or else its tag.
func imageParts(ref string) (repository, version string) {
	repository, tag, digest := grammar.CutImage(ref)
	switch host, _, found := strings.Cut(repository, "/"); {
	case !found:
		repository = "docker.io/library/" + repository
	case host == "index.docker.io":
		repository = repository[len("index."):]
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		repository = "docker.io/" + repository
	}
	return repository, cmp.Or(digest, tag)
}

// fill replaces the tokens in words of a launcher.
func (f reference) fill(words []string) []string {
	name, _, _ := strings.Cut(f.identifier, "[")
	values := map[string]string{"identifier": f.identifier, "version": f.version, "name": name}
	out := make([]string, len(words))
	for i, w := range words {
		t, _, _ := substitute(w, func(name string) (text, bool) {
			value, ok := values[name]
			return text{string: value}, ok
		})
		out[i] = t.string
	}
	return out
}

// reference checks that identifier and version are only names. A launcher interprets other
// strings as paths, addresses, aliases and options.
func (r *resolver) reference(p *manifest.Package) (reference, bool) {
	f := newReference(p)
	label := f.label
	if _, own := r.opts.Launchers[p.RegistryType]; own {
		label, f = "", reference{identifier: p.Identifier, version: f.version, pinned: f.version != ""}
	}
	if !isIdentifier(label, p.Identifier) {
		suggestion := "write only the name"
		if found := grammar.Placeholder(p.Identifier); found != "" {
			suggestion = jsonpos.Quote(found) + " is a placeholder of a release template: fill it in first"
		}
		r.manifestFault("/identifier", suggestion, "identifier %s is not the name of a package", jsonpos.Quote(p.Identifier))
		return f, false
	}
	if f.version != "" && !isVersion(label, f.version) {
		r.manifestFault("/version", "write one version, such as 1.0.0", "version %s is not a single version of a package", jsonpos.Quote(f.version))
		return f, false
	}
	return f, true
}

// identifiers match the names of packages by their registryType.
var identifiers = map[string]*regexp.Regexp{
	"npm":   regexp.MustCompile(`^(@[\w.~-]+/[\w~]|\w)[\w.~-]*$`),
	"pypi":  regexp.MustCompile(`^\w[\w.-]*(\[[\w.,-]*\])?$`),
	"oci":   regexp.MustCompile(`^\w[\w./:@-]*$`),
	"nuget": regexp.MustCompile(`^\w[\w.-]*$`),
	"cargo": regexp.MustCompile(`^\w[\w-]*$`),
}

// isIdentifier reports whether s is a name by the rules of a registryType.
func isIdentifier(label, s string) bool {
	pattern := identifiers[label]
	switch {
	case len(s) > maxText/2 || s == "":
		return false
	case pattern != nil:
		return pattern.MatchString(s)
	}
	return (grammar.IsAlphanumeric(s[0]) || s[0] == '@' || s[0] == '_') &&
		!strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || grammar.IsSpace(c) })
}

// isVersion reports whether s is a single version that a launcher does not interpret
// otherwise.
func isVersion(label, s string) bool {
	if len(s) > 255 || s == "latest" || grammar.RangeReason(s) != "" || !grammar.IsAlphanumeric(s[0]) {
		return false
	}
	if digest, ok := strings.CutPrefix(s, "sha256:"); ok && label == "oci" {
		return len(digest) == 64 && grammar.IsHex(digest)
	}
	switch label {
	case "oci":
		return len(s) <= 128 && grammar.Only(s, "-._")
	case "pypi":
		return grammar.Only(s, "-._+!")
	}
	return grammar.Only(s, "-._+")
}
