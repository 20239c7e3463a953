package launch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// review reports options that widen what a server may do. Only options that are known to be
// harmless have no notice.
func (c *commandBuilder) review(options []element) {
	s := c.launcher.syntax
	for i := range options {
		e := &options[i]
		for n, name := range e.names {
			o, known := s.find(name)
			if !known || len(e.items) == 0 {
				continue
			}
			if n == len(e.names)-1 {
				c.reviewOption(e, name)
			} else if o.effect == effectUnsure || o.effect == effectDanger {
				c.reviewOption(&element{names: []string{name}, effect: o.effect, pointer: e.pointer}, name)
			}
		}
	}
}

func (c *commandBuilder) reviewOption(e *element, name string) {
	value := e.value.string
	if c.launcher.Container {
		c.separators(e, name)
	}
	switch e.effect {
	case effectUnsure:
		c.notice(SeverityWarning, e.pointer, "%s is an option of %s that servers seldom need", jsonpos.Quote(name), c.program())
	case effectDanger:
		if name != "--security-opt" || !strings.HasPrefix(value, "no-new-privileges") || strings.HasSuffix(value, "false") {
			c.notice(SeverityDanger, e.pointer, "%s %s", jsonpos.Quote(name), c.launcher.syntax.danger)
		}
	case effectShell:
		if e.value.given || !e.value.fixed || len(e.value.filled) > 0 {
			c.manifestFault(e.pointer, "write it as packageArguments", "%s is a text for a shell, and must not contain values of users", jsonpos.Quote(name))
		} else {
			c.notice(SeverityDanger, e.pointer, "%s is run by a shell and can run any program", jsonpos.Quote(name))
		}
	case effectURL:
		c.source(e, name)
	case effectExtra, effectMaybe:
		c.notice(SeverityWarning, e.pointer, "%s installs a further package beside that of the manifest", jsonpos.Quote(name))
	case effectNamespace:
		c.namespace(e, name)
	case effectMount:
		c.mount(e, name)
	case effectVariable:
		declared := c.named[value] != nil || slices.ContainsFunc(c.plan.Environment, func(s Setting) bool { return s.Name == value })
		if !declared && !strings.Contains(value, "=") {
			c.notice(SeverityWarning, e.pointer, "the container gets an environment variable of this machine that the manifest does not declare")
		}
	case effectPort:
		if !strings.HasPrefix(value, "127.0.0.1:") && !strings.HasPrefix(value, "[::1]:") {
			c.notice(SeverityWarning, e.pointer, "%s publishes a port to the network, not to this machine alone", jsonpos.Quote(name))
		}
	default:
		c.plainOption(e, name)
	}
}

// plainOption reports values of options that are harmless otherwise.
func (c *commandBuilder) plainOption(e *element, name string) {
	value := e.value.string
	switch {
	case c.launcher.Container && (name == "-u" || name == "--user") && (value == "root" || value == "0" || strings.HasPrefix(value, "0:") || strings.HasPrefix(value, "root:")):
		c.notice(SeverityWarning, e.pointer, "the container runs as root")
	case !c.launcher.Container && (name == "-p" || name == "--python") && strings.ContainsAny(value, `/\`):
		c.notice(SeverityDanger, e.pointer, "%s runs the package with a program at a path", jsonpos.Quote(name))
	}
}

// source reports where packages come from.
func (c *commandBuilder) source(e *element, name string) {
	u, err := url.Parse(e.value.string)
	if err == nil && u.Scheme == "http" && !isLocal(u.Hostname()) {
		c.notice(SeverityDanger, e.pointer, "%s names an http address: everyone between can replace the packages", jsonpos.Quote(name))
		return
	}
	c.notice(SeverityWarning, e.pointer, "%s makes packages come from another source than the default registry", jsonpos.Quote(name))
}

// namespace reports what a container shares with this machine or another container.
func (c *commandBuilder) namespace(e *element, name string) {
	switch value := strings.ToLower(e.value.string); {
	case value == "host" || strings.Contains(value, "=host") || strings.HasPrefix(value, "host:"):
		c.notice(SeverityDanger, e.pointer, "%s shares that of this machine with the container", jsonpos.Quote(name+" host"))
	case strings.HasPrefix(value, "container:") || strings.HasPrefix(value, "ns:"):
		c.notice(SeverityWarning, e.pointer, "%s shares that of another container or process", jsonpos.Quote(name))
	}
}
