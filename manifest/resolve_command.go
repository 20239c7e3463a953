package manifest

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// start adds the command of a package, or the file that it is.
func (r *resolver) start(p *Package, plan *Plan, runtime []part) {
	if slices.Contains(r.opts.BundleLabels, p.RegistryType) {
		r.bundle(p, plan, runtime)
		return
	}
	l, origin, ok := r.launcher(p)
	ref, fits := r.reference(p)
	if !ok || !fits {
		return
	}
	r.advise(p, ref)
	c := commander{resolver: r, launcher: l, ref: ref, plan: plan, runtime: slices.Clone(runtime), origin: origin}
	c.build()
}

// launcher chooses how the package is run. origin is the key that decided.
func (r *resolver) launcher(p *Package) (l Launcher, origin string, ok bool) {
	if l, ok := r.opts.Launchers[p.RegistryType]; ok {
		return l, "", true
	}
	label := strings.ToLower(p.RegistryType)
	hint := or(p.RuntimeHint, "")
	l, byHint, ok := DefaultLauncher(label, hint)
	if !ok {
		r.unfit("/registryType", "use "+alternatives(wellKnown[:]), "there is no known way to run a package of registryType %s", show(p.RegistryType))
		return l, "", false
	}
	if byHint {
		return l, "/runtimeHint", true
	}
	if hint != "" {
		r.notice("/runtimeHint", "runtimeHint %s is not a program that is known to run %s packages; it is not used", show(hint), label)
	}
	return l, "/registryType", true
}

// bundle is a package that is a file.
func (r *resolver) bundle(p *Package, plan *Plan, runtime []part) {
	u, err := url.Parse(p.Identifier)
	if err != nil || uriFault(p.Identifier) != "" || u.Host == "" || !isHTTP(u.Scheme) {
		r.unfit("/identifier", "write the https URL of the file", "the identifier of a bundle file is %s and not a URL", show(p.Identifier))
	}
	sum := or(p.FileSHA256, "")
	if len(sum) != 64 || !isHexDigits(sum) || strings.ToLower(sum) != sum {
		r.unfit("", "add the fileSha256", "a bundle file can't be used without 64 lowercase hexadecimal characters of SHA-256")
	}
	for range runtime[:min(len(runtime), 1)] {
		r.notice("/runtimeArguments", "a bundle file starts by its own manifest; runtimeArguments are not used")
	}
	plan.Files = []File{{URL: p.Identifier, SHA256: sum, Origin: r.opts.Pointer + "/identifier"}}
	r.notice("", "what is run, and with what access, is said by a manifest in the file")
}

// advise notes what a launcher does not do of what the manifest says.
func (r *resolver) advise(p *Package, ref reference) {
	if !ref.pinned {
		r.notice("", "no version is named: what is run can change any day")
	}
	if p.FileSHA256 != nil {
		r.notice("/fileSha256", "the launcher fetches the package itself, so that fileSha256 is not checked")
	}
	if p.RegistryBaseURL != nil && !ref.based {
		r.notice("/registryBaseUrl", "the package comes from the registry that the launcher is set up for, which may not be %s", show(*p.RegistryBaseURL))
	}
}

// commander builds a command line.
type commander struct {
	*resolver
	launcher Launcher
	ref      reference
	plan     *Plan
	runtime  []part
	origin   string
	argv     Command
}

func (c *commander) add(origin string, texts ...string) {
	if origin != "" {
		origin = c.opts.Pointer + origin
	}
	for _, t := range texts {
		c.argv = append(c.argv, Item{Value: plainValue(t), Origin: origin})
	}
}

func (c *commander) build() {
	l := &c.launcher
	names := l.Package
	if c.ref.version == "" {
		names = l.Unversioned
	}
	c.dropRepeated(names)
	if len(l.Command) > 0 {
		c.add(c.origin, l.Command[0])
		c.add("", l.Command[1:]...)
	}
	c.mistakable()
	if len(l.Setup) > 0 {
		c.setup()
	}
	c.flags(l.Flags)
	var set map[string]bool
	if l.Container {
		set = c.hideSecrets()
	}
	c.argv = append(c.argv, itemsOf(c.runtime)...)
	if l.Container {
		c.variables(set)
		c.publish()
	}
	if len(names) > 2 && c.given(names[:1]) {
		names = names[2:]
	}
	c.add("/identifier", c.ref.fill(names)...)
	c.flags(l.Trailing)
	if l.Separator != "" && len(c.plan.Arguments) > 0 {
		c.add("", l.Separator)
	}
	c.plan.Command = append(c.argv, c.plan.Arguments...)
	for _, command := range c.plan.Setup {
		c.exposed(command)
	}
	c.exposed(c.plan.Command)
}

// exposed notes what others on the machine can read.
func (c *commander) exposed(command Command) {
	for _, item := range command {
		if item.Value.IsSecret() && len(c.notices) < defaultProblems {
			c.notices = append(c.notices, Notice{Pointer: item.Origin, Message: "a secret is on the command line, which other users of this machine can read"})
		}
	}
}

// mistakable notes words that the launcher may take for the package: they stand where
// it looks for one.
func (c *commander) mistakable() {
	for i := range c.runtime {
		p := &c.runtime[i]
		if p.flag == "" && !strings.HasPrefix(p.value.text, "-") && len(c.notices) < defaultProblems {
			c.notices = append(c.notices, Notice{Pointer: p.items[0].Origin, Message: "a runtime argument that is no option stands before the package, and may be taken for it"})
		}
	}
}

// setup is a command of its own, which takes the runtimeArguments.
func (c *commander) setup() {
	template := c.launcher.Setup
	if c.ref.version == "" {
		template = c.launcher.SetupUnversioned
	}
	head := min(2, len(template))
	c.add("/registryType", c.ref.fill(template[:head])...)
	c.argv = append(c.argv, itemsOf(c.runtime)...)
	c.add("/identifier", c.ref.fill(template[head:])...)
	c.plan.Setup = []Command{c.argv}
	c.argv, c.runtime = nil, nil
}

// dropRepeated removes from the runtimeArguments what the command has anyway: what
// follows the program, and the package itself. A package that the publisher names by
// the launcher's own flag, as --from, is theirs to name: both words stay.
func (c *commander) dropRepeated(names []string) {
	for _, word := range c.launcher.Command[min(1, len(c.launcher.Command)):] {
		if len(c.runtime) == 0 || c.runtime[0].flag != "" || c.runtime[0].value.text != word {
			break
		}
		c.runtime = c.runtime[1:]
	}
	own := append(c.ref.fill(names), c.ref.identifier)
	var kept []part
	theirs := false // the part before is that flag
	for _, p := range c.runtime {
		value := theirs
		theirs = p.flag == "" && len(names) > 2 && strings.HasPrefix(names[0], "-") && p.value.text == names[0]
		if theirs || value || p.flag != "" || !p.value.fixed || !slices.Contains(own, p.value.text) {
			kept = append(kept, p)
		}
	}
	c.runtime = kept
}

// flags adds those that the publisher has not given.
func (c *commander) flags(all [][]string) {
	for _, spellings := range all {
		if !c.given(spellings) {
			c.add("", spellings[0])
		}
	}
}

// given says that the runtimeArguments have a flag: by itself, with a value (--rm=true,
// -p8080:80), or as one of several letters behind one dash.
func (c *commander) given(spellings []string) bool {
	for i := range c.runtime {
		first := c.runtime[i].items[0].Value.Reveal()
		for _, s := range spellings {
			if first == s || strings.HasPrefix(first, s+"=") && strings.HasPrefix(s, "--") {
				return true
			}
			if len(s) != 2 || len(first) < 3 || first[0] != '-' {
				continue
			}
			if strings.HasPrefix(first, s) && !isLetter(first[2]) || allLetters(first[1:]) && strings.Contains(first, s[1:]) {
				return true
			}
		}
	}
	return false
}

func allLetters(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) {
			return false
		}
	}
	return true
}

// setsVariable is the variable that an argument of a container's launcher sets, and
// what to, if it says so.
func (p *part) setsVariable() (name, value string, sets bool) {
	if p.flag != "-e" && p.flag != "--env" {
		return "", "", false
	}
	name, value, _ = strings.Cut(p.value.text, "=")
	return name, value, true
}

// hideSecrets takes the secrets out of -e NAME=secret: other users of the machine
// can read command lines, and not environments. One that would steer the launcher
// stays. It returns the names of all variables that runtimeArguments set.
func (c *commander) hideSecrets() map[string]bool {
	set := make(map[string]bool)
	hidden := make(map[string]Setting)
	for i := range c.runtime {
		p := &c.runtime[i]
		name, value, sets := p.setsVariable()
		if !sets {
			continue
		}
		set[name] = true
		if !p.value.secret || name == "" || name == p.value.text || steersAll(name) || !only(name, "_") {
			continue
		}
		origin := p.items[0].Origin
		p.items = []Item{{Value: plainValue(p.flag), Origin: origin}, {Value: plainValue(name), Origin: origin}}
		hidden[name] = Setting{Name: name, Value: secretValue(value, masked), Origin: origin}
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

// variables names the environment to a container, but for what is set already. The
// values stay out of the command line; what would steer the launcher itself goes
// into it, even if it is secret: to call it so must not bring it there.
func (c *commander) variables(set map[string]bool) {
	var kept []Setting
	for _, s := range c.plan.Environment {
		argument := plainValue(s.Name)
		if steersAll(s.Name) || steers(s.Name) && !s.Value.IsSecret() {
			argument = joined(s.Name, filled{text: s.Value.Reveal(), secret: s.Value.IsSecret()})
		} else {
			kept = append(kept, s)
		}
		if !set[s.Name] {
			c.argv = append(c.argv, Item{Value: plainValue("-e"), Origin: s.Origin}, Item{Value: argument, Origin: s.Origin})
		}
	}
	c.plan.Environment = kept
}

// publish opens the port of the url, to this machine alone.
func (c *commander) publish() {
	if c.plan.URL == nil || c.given([]string{"--publish", "-p", "--publish-all", "-P", "--network", "--net"}) {
		return
	}
	u, err := url.Parse(c.plan.URL.Value.Reveal())
	if err != nil || u.Port() == "" || !isLocal(u.Hostname()) || c.plan.URL.Value.IsSecret() {
		return
	}
	c.argv = append(c.argv,
		Item{Value: plainValue("-p"), Origin: c.plan.URL.Origin},
		Item{Value: plainValue("127.0.0.1:" + u.Port() + ":" + u.Port()), Origin: c.plan.URL.Origin})
}

// isLocal says that a host is this machine.
func isLocal(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (a.IsLoopback() || a.IsUnspecified())
}
