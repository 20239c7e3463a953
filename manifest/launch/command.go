package launch

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/internal/grammar"
)

// bundle adds the file of a bundle package to a plan.
func (r *resolver) bundle(p *manifest.Package, plan *Plan, runtime []part) {
	if u, err := url.Parse(p.Identifier); err != nil || !isHTTP(u) || grammar.URIFault(p.Identifier) != "" {
		r.manifestFault("/identifier", "write the https URL of the file", "identifier %s of a bundle file is not an http or https URL", jsonpos.Quote(p.Identifier))
	}
	sum := orElse(p.FileSHA256, "")
	if !grammar.IsSHA256(sum) {
		r.manifestFault("", "add the fileSha256", "a bundle file needs a SHA-256 of 64 lowercase hexadecimal characters")
	}
	if len(runtime) > 0 {
		r.notice("/runtimeArguments", "runtimeArguments are ignored, because the manifest in the bundle file defines its command")
	}
	plan.Files = []manifest.File{{URL: p.Identifier, SHA256: sum, Origin: r.opts.Pointer + "/identifier"}}
	r.notice("", "a manifest in the bundle file defines what is run and with what access")
}

// isHTTP reports whether a URL has the scheme http or https, and a host.
func isHTTP(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }

// command adds the command line of a package to a plan.
func (r *resolver) command(p *manifest.Package, plan *Plan, runtime []part) {
	l, origin, ok := r.launcher(p)
	ref, fits := r.reference(p)
	if !ok || !fits {
		return
	}
	if !ref.pinned {
		r.notice("", "no version is pinned: what is run can change at any time")
	}
	if p.FileSHA256 != nil {
		r.notice("/fileSha256", "fileSha256 is not checked, because the launcher downloads the package itself")
	}
	if p.RegistryBaseURL != nil && !ref.based {
		r.notice("/registryBaseUrl", "the launcher uses its configured registry, which may not be %s", jsonpos.Quote(*p.RegistryBaseURL))
	}
	c := commandBuilder{resolver: r, launcher: l, reference: ref, plan: plan, runtime: slices.Clone(runtime)}
	c.build(origin)
}

// commandBuilder builds the command line of a package.
type commandBuilder struct {
	*resolver
	launcher  Launcher
	reference reference
	plan      *Plan
	runtime   []part
	argv      Command
}

// add appends words that come from a value of the package, or from the launcher if the
// pointer is "".
func (c *commandBuilder) add(pointer string, words ...string) {
	if pointer != "" {
		pointer = c.opts.Pointer + pointer
	}
	for _, w := range words {
		c.argv = append(c.argv, Item{Value: plainValue(w), Origin: pointer})
	}
}

// build builds the command. origin is the key that chose the launcher.
func (c *commandBuilder) build(origin string) {
	l := &c.launcher
	names := l.Package
	if c.reference.version == "" {
		names = l.Unversioned
	}
	c.dropDuplicates(names)
	if len(l.Command) > 0 {
		c.add(origin, l.Command[0])
		c.add("", l.Command[1:]...)
	}
	for i := range c.runtime {
		if p := &c.runtime[i]; p.flag == "" && !strings.HasPrefix(p.value.string, "-") {
			c.noticeAt(p.items[0].Origin, "this runtime argument is not an option, and the launcher may take it for the package")
		}
	}
	if len(l.Setup) > 0 {
		c.setup()
	}
	c.addFlags(l.Flags)
	if l.Container {
		set := c.hideSecrets()
		c.argv = append(c.argv, itemsOf(c.runtime)...)
		c.passVariables(set)
		c.publishPort()
	} else {
		c.argv = append(c.argv, itemsOf(c.runtime)...)
	}
	if len(names) > 2 && c.hasFlag(names[:1]) {
		names = names[2:]
	}
	c.add("/identifier", c.reference.fill(names)...)
	c.addFlags(l.Trailing)
	if l.Separator != "" && len(c.plan.Arguments) > 0 {
		c.add("", l.Separator)
	}
	c.plan.Command = append(c.argv, c.plan.Arguments...)
	for _, command := range append(slices.Clone(c.plan.Setup), c.plan.Command) {
		for _, item := range command {
			if item.Value.IsSecret() {
				c.noticeAt(item.Origin, "a secret is on the command line, which other users of this machine can read")
			}
		}
	}
}

// setup builds a command to run before, which has the runtimeArguments.
func (c *commandBuilder) setup() {
	words := c.launcher.Setup
	if c.reference.version == "" {
		words = c.launcher.SetupUnversioned
	}
	words = c.reference.fill(words)
	head := min(2, len(words))
	c.add("/registryType", words[:head]...)
	c.argv = append(c.argv, itemsOf(c.runtime)...)
	c.add("/identifier", words[head:]...)
	c.plan.Setup = []Command{c.argv}
	c.argv, c.runtime = nil, nil
}

// dropDuplicates removes from the runtimeArguments what the command has anyway: the words
// after the program, and the package itself. A package that the publisher names with the
// launcher's own flag, such as --from, stays.
func (c *commandBuilder) dropDuplicates(names []string) {
	for _, word := range c.launcher.Command[min(1, len(c.launcher.Command)):] {
		if len(c.runtime) == 0 || c.runtime[0].flag != "" || c.runtime[0].value.string != word {
			break
		}
		c.runtime = c.runtime[1:]
	}
	own := append(c.reference.fill(names), c.reference.identifier)
	var rest []part
	afterFlag := false // the previous part is that flag
	for _, p := range c.runtime {
		isFlag := p.flag == "" && len(names) > 2 && strings.HasPrefix(names[0], "-") && p.value.string == names[0]
		if isFlag || afterFlag || p.flag != "" || !p.value.fixed || !slices.Contains(own, p.value.string) {
			rest = append(rest, p)
		}
		afterFlag = isFlag
	}
	c.runtime = rest
}

// addFlags adds the flags that are not among the runtimeArguments.
func (c *commandBuilder) addFlags(flags [][]string) {
	for _, spellings := range flags {
		if !c.hasFlag(spellings) {
			c.add("", spellings[0])
		}
	}
}

// hasFlag reports whether the runtimeArguments have a flag: alone, with a value (--rm=true,
// -p8080:80), or as one of several letters after one dash.
func (c *commandBuilder) hasFlag(spellings []string) bool {
	for i := range c.runtime {
		word := c.runtime[i].items[0].Value.Reveal()
		for _, s := range spellings {
			if word == s || strings.HasPrefix(s, "--") && strings.HasPrefix(word, s+"=") {
				return true
			}
			if len(s) != 2 || len(word) < 3 || word[0] != '-' {
				continue
			}
			onlyLetters := strings.IndexFunc(word[1:], func(r rune) bool { return r > 'z' || !grammar.IsLetter(byte(r)) }) < 0
			if strings.HasPrefix(word, s) && !grammar.IsLetter(word[2]) || onlyLetters && strings.Contains(word, s[1:]) {
				return true
			}
		}
	}
	return false
}

// hideSecrets moves the secrets of -e NAME=secret to the environment of the launcher,
// because other users of the machine can read command lines. A variable that would affect
// the launcher stays. It returns the names of all variables that the runtimeArguments set.
func (c *commandBuilder) hideSecrets() map[string]bool {
	set := make(map[string]bool)
	hidden := make(map[string]Setting)
	for i := range c.runtime {
		p := &c.runtime[i]
		if p.flag != "-e" && p.flag != "--env" {
			continue
		}
		name, value, assigned := strings.Cut(p.value.string, "=")
		set[name] = true
		if !p.value.secret || name == "" || !assigned || affectsEveryProgram(name) || !grammar.Only(name, "_") {
			continue
		}
		origin := p.items[0].Origin
		p.items = []Item{{Value: plainValue(p.flag), Origin: origin}, {Value: plainValue(name), Origin: origin}}
		hidden[name] = Setting{Name: name, Value: newValue(value, true), Origin: origin}
	}
	c.plan.Environment = slices.DeleteFunc(c.plan.Environment, func(s Setting) bool {
		_, again := hidden[s.Name]
		return again
	})
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		c.plan.Environment = append(c.plan.Environment, hidden[name])
	}
	return set
}

// passVariables passes the environment to a container by name, except for the variables
// that are set already. A variable that would affect the launcher is passed by value
// instead, even a secret one: otherwise the mark isSecret would bring it there.
func (c *commandBuilder) passVariables(set map[string]bool) {
	var env []Setting
	for _, s := range c.plan.Environment {
		argument := plainValue(s.Name)
		if affectsEveryProgram(s.Name) || affectsPrograms(s.Name) && !s.Value.IsSecret() {
			argument = joined(s.Name, text{string: s.Value.Reveal(), secret: s.Value.IsSecret()})
		} else {
			env = append(env, s)
		}
		if !set[s.Name] {
			c.argv = append(c.argv, Item{Value: plainValue("-e"), Origin: s.Origin}, Item{Value: argument, Origin: s.Origin})
		}
	}
	c.plan.Environment = env
}

// publishPort publishes the port of the url to this machine only.
func (c *commandBuilder) publishPort() {
	link := c.plan.URL
	if link == nil || link.Value.IsSecret() || c.hasFlag([]string{"--publish", "-p", "--publish-all", "-P", "--network", "--net"}) {
		return
	}
	u, err := url.Parse(link.Value.Reveal())
	if err != nil || u.Port() == "" || !isLocal(u.Hostname()) {
		return
	}
	published := "127.0.0.1:" + u.Port() + ":" + u.Port()
	c.argv = append(c.argv, Item{Value: plainValue("-p"), Origin: link.Origin}, Item{Value: plainValue(published), Origin: link.Origin})
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (a.IsLoopback() || a.IsUnspecified())
}
