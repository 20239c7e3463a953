package launch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// bundle adds the file of a bundle package to a plan.
func (r *resolver) bundle(p *manifest.Package, plan *Plan, runtime []element) {
	if u, err := url.Parse(p.Identifier); err != nil || !isHTTP(u) || grammar.URIFault(p.Identifier) != "" {
		r.manifestFault("/identifier", "write the https URL of the file", "identifier %s of a bundle file is not an http or https URL", jsonpos.Quote(p.Identifier))
	}
	sum := orElse(p.FileSHA256, "")
	if !grammar.IsSHA256(sum) {
		r.manifestFault("", "add the fileSha256", "a bundle file needs a SHA-256 of 64 lowercase hexadecimal characters")
	}
	if len(runtime) > 0 {
		r.notice(SeverityWarning, "/runtimeArguments", "runtimeArguments are ignored, because the manifest in the bundle file defines its command")
	}
	plan.Files = []manifest.File{{URL: p.Identifier, SHA256: sum, Origin: r.opts.Pointer + "/identifier"}}
	r.notice(SeverityInfo, "", "a manifest in the bundle file defines what is run and with what access")
}

// isHTTP reports whether a URL has the scheme http or https, and a host.
func isHTTP(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }

// command adds the command line of a package to a plan.
func (r *resolver) command(p *manifest.Package, plan *Plan, runtime []element) {
	l, origin, ok := r.launcher(p)
	ref, fits := r.reference(p)
	if !ok || !fits {
		return
	}
	if p.FileSHA256 != nil {
		r.notice(SeverityWarning, "/fileSha256", "fileSha256 is not checked, because the launcher downloads the package itself")
	}
	if base := orElse(p.RegistryBaseURL, ""); p.RegistryBaseURL != nil && !ref.based && !grammar.IsDefaultRegistry(ref.label, base) {
		if flag := registryFlag(&l, base); flag != nil {
			l.Flags = append(slices.Clip(l.Flags), flag)
			r.notice(SeverityInfo, "/registryBaseUrl", "the package comes from %s", jsonpos.Quote(base))
		} else {
			r.notice(SeverityDanger, "/registryBaseUrl", "the launcher is not told to use %s: a package of the same name in its own registry would be run", jsonpos.Quote(base))
		}
	}
	if l.foreign && len(runtime) > 0 {
		r.doubt("/runtimeArguments", "remove them, or write a runtimeHint that runs "+ref.label+" packages", "the runtimeArguments are omitted, because they are for a program that is not used")
		runtime = nil
	}
	c := commandBuilder{resolver: r, launcher: l, reference: ref, plan: plan, runtime: runtime}
	c.build(origin)
	if !c.reference.pinned {
		r.notice(SeverityWarning, "", "no version is pinned: what is run can change at any time")
	}
}

// registryFlag returns the flag that makes a launcher use another registry, with its spellings, or nil.
func registryFlag(l *Launcher, base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLocal(u.Hostname())) || l.registry == nil {
		return nil
	}
	return append([]string{l.registry[0] + "=" + base}, l.registry...)
}

// commandBuilder builds the command line of a package.
type commandBuilder struct {
	*resolver
	launcher  Launcher
	reference reference
	plan      *Plan
	runtime   []element
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
	p := c.arrange()
	if len(l.Setup) > 0 {
		origin = "/registryType"
	}
	if command := l.beginning(); len(command) > 0 {
		c.add(origin, command[0])
		c.add("", command[1:]...)
	}
	c.addFlags(l.Flags, p.options)
	var set map[string]bool
	if l.Container {
		set = c.hideSecrets(p.options)
	}
	c.argv = append(c.argv, itemsOf(p.options)...)
	if l.Container {
		c.passVariables(set)
		c.publishPort(p.options)
	}
	c.argv = append(c.argv, p.target...)
	c.addFlags(l.Trailing, p.options)
	if len(l.Setup) > 0 {
		c.plan.Setup, c.argv = []Command{c.argv}, nil
		c.add(origin, l.Command...)
		c.add("/identifier", c.reference.fill(c.packageWords())...)
	}
	if l.Separator != "" && len(p.rest)+len(c.plan.Arguments) > 0 {
		c.add("", l.Separator)
	}
	c.plan.Command = slices.Concat(c.argv, p.rest, c.plan.Arguments)
	for _, command := range append(slices.Clone(c.plan.Setup), c.plan.Command) {
		for _, item := range command {
			if item.Value.IsSecret() {
				c.noticeAt(SeverityWarning, item.Origin, "a secret is on the command line, which other users of this machine can read")
			}
		}
	}
}

// packageWords returns the words of the launcher that name the package in its command.
func (c *commandBuilder) packageWords() []string {
	if c.reference.version == "" {
		return c.launcher.Unversioned
	}
	return c.launcher.Package
}

// arrange places the package among the runtimeArguments. Those of a launcher whose syntax
// is not known precede it.
func (c *commandBuilder) arrange() arrangement {
	words := c.cutCommand(c.words())
	if c.launcher.syntax != nil {
		p := c.findPackage(c.read(words))
		c.review(p.options)
		return p
	}
	p := arrangement{target: c.packageItems()}
	for _, w := range words {
		e := element{items: []Item{w.Item}, value: w.text}
		if isOption(w.string) {
			name, _, _ := strings.Cut(w.string, "=")
			e.names = []string{name}
		} else if !w.bound {
			c.doubt(w.pointer, "write it among the packageArguments", "this runtime argument is not an option, and the launcher may take it for the package")
		}
		p.options = append(p.options, e)
	}
	if names := c.launcher.Package; len(names) > 2 && has(p.options, names[0]) {
		p.target = p.target[2:]
	}
	return p
}

// addFlags adds the flags that are not among the options.
func (c *commandBuilder) addFlags(flags [][]string, options []element) {
	for _, spellings := range flags {
		if !has(options, spellings...) {
			pointer := ""
			if strings.Contains(spellings[0], "=") {
				pointer = "/registryBaseUrl"
			}
			c.add(pointer, spellings[0])
		}
	}
}
