// Package diff compares two versions of a tool server manifest and classifies each change by what it
// may do to somebody who has agreed to the older one: another description, a new optional input, a
// new secret, another package, a new host, other content under the same version.
//
//	changes := diff.Compare(older, newer)
//	if len(changes) > 0 && changes[0].Risk >= diff.Secret {
//		// ask again
//	}
package diff

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Risk is a class of changes between two versions of a manifest, in the order of what they may do
// to somebody who has agreed to the older one.
type Risk int

// The classes.
const (
	Text     Risk = iota // descriptions, pictures, metadata
	Update               // a newer version of the same packages; something less than before
	Input                // a new optional input, or other defaults or choices
	Required             // a new required input: what ran unattended will ask
	Secret               // a new secret is asked for
	Command              // other fixed arguments, variables, headers or another launcher
	Package              // another package, server or transport
	Host                 // a host that was not contacted before
	Content              // other content under the same version
)

var riskNames = []string{"text", "update", "input", "required", "secret", "command", "package", "host", "content"}

// Risks returns all classes in their order.
func Risks() []Risk {
	all := make([]Risk, len(riskNames))
	for i := range all {
		all[i] = Risk(i)
	}
	return all
}

// String returns the name of the class.
func (r Risk) String() string {
	if r < 0 || int(r) >= len(riskNames) {
		return fmt.Sprintf("Risk(%d)", int(r))
	}
	return riskNames[r]
}

// MarshalText returns the name of the class.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Change is one difference between two manifests.
type Change struct {
	Risk Risk `json:"risk"`
	// Pointer is the JSON pointer of the value in the newer manifest, or in the older one if it
	// was removed.
	Pointer string `json:"pointer"`
	// Message says what changed, in one line. It has no values of inputs.
	Message string `json:"message"`
}

// Compare returns the differences of two versions of a manifest, the gravest first. Packages are
// the same if registryType and identifier are, and inputs if their names are.
func Compare(before, after *manifest.Server) []Change {
	c := &comparison{}
	c.server(before, after)
	slices.SortStableFunc(c.changes, func(a, b Change) int { return cmp.Compare(b.Risk, a.Risk) })
	return c.changes
}

// comparison collects changes.
type comparison struct{ changes []Change }

func (c *comparison) add(risk Risk, pointer, format string, args ...any) {
	c.changes = append(c.changes, Change{risk, pointer, fmt.Sprintf(format, args...)})
}

// text reports another text.
func (c *comparison) text(pointer string, before, after *string) {
	if deref(before) != deref(after) || (before == nil) != (after == nil) {
		c.add(Text, pointer, "%s is another one", pointer[strings.LastIndexByte(pointer, '/')+1:])
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *comparison) server(before, after *manifest.Server) {
	if before.Name != after.Name {
		c.add(Package, "/name", "another server: %s instead of %s", jsonpos.Quote(after.Name), jsonpos.Quote(before.Name))
	}
	if before.Version != after.Version {
		c.add(Update, "/version", "version %s instead of %s", jsonpos.Quote(after.Version), jsonpos.Quote(before.Version))
	}
	c.text("/$schema", before.Schema, after.Schema)
	c.text("/title", before.Title, after.Title)
	c.text("/description", &before.Description, &after.Description)
	c.text("/websiteUrl", before.WebsiteURL, after.WebsiteURL)
	c.same("/icons", before.Icons, after.Icons)
	c.same("/repository", before.Repository, after.Repository)
	c.same("/_meta", before.Meta, after.Meta)
	c.same("", before.Extra, after.Extra)
	c.packages(before, after)
	c.remotes(before, after)
}

// same reports other metadata.
func (c *comparison) same(pointer string, before, after any) {
	if string(jsonpos.AppendValue(nil, before)) != string(jsonpos.AppendValue(nil, after)) {
		c.add(Text, pointer, "%s is another one", cmp.Or(strings.TrimPrefix(pointer, "/"), "a member that this program does not know"))
	}
}

// packages pairs the packages of both sides: first those of the same name, then those that were
// replaced.
func (c *comparison) packages(before, after *manifest.Server) {
	pairs := pair(len(before.Packages), len(after.Packages), func(i, j int) int {
		a, b := &before.Packages[i], &after.Packages[j]
		switch {
		case a.RegistryType != b.RegistryType:
			return 0
		case packageName(a) != packageName(b):
			return 1
		case a.Transport.Type != b.Transport.Type:
			return 2
		}
		return 3
	})
	for j := range after.Packages {
		p, at := &after.Packages[j], fmt.Sprintf("/packages/%d", j)
		i := slices.Index(pairs, j)
		if i < 0 {
			c.add(Package, at, "a new package: %s %s", p.RegistryType, jsonpos.Quote(packageName(p)))
			c.newHost(before, at+"/identifier", p.Identifier)
			c.newHost(before, at+"/transport/url", p.Transport.URL)
			c.packageInputs(at, &manifest.Package{}, p)
			continue
		}
		c.pack(before, &before.Packages[i], p, at, before.Version == after.Version)
	}
	for i := range before.Packages {
		if pairs[i] < 0 {
			c.add(Update, fmt.Sprintf("/packages/%d", i), "a package less: %s", jsonpos.Quote(packageName(&before.Packages[i])))
		}
	}
}

// pair returns for each of n elements its best partner of m, or -1. Partners with a higher score
// are chosen first, and 0 is no partner.
func pair(n, m int, score func(i, j int) int) []int {
	partner := make([]int, n)
	for i := range partner {
		partner[i] = -1
	}
	taken := make([]bool, m)
	for want := 3; want > 0; want-- {
		for i := range n {
			for j := range m {
				if partner[i] < 0 && !taken[j] && score(i, j) >= want {
					partner[i], taken[j] = j, true
				}
			}
		}
	}
	return partner
}

// packageName returns the identifier without the version: an image without tag and digest, and a
// file without what changes from release to release.
func packageName(p *manifest.Package) string {
	name := p.Identifier
	switch strings.ToLower(p.RegistryType) {
	case "oci":
		name, _, _ = grammar.CutImage(name)
	case "mcpb":
		if u, err := url.Parse(name); err == nil && u.Host != "" {
			first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
			name = u.Scheme + "://" + u.Host + "/" + first
		}
	}
	return name
}

// pack compares two packages.
func (c *comparison) pack(all *manifest.Server, a, b *manifest.Package, at string, sameVersion bool) {
	switch version := deref(a.Version) == deref(b.Version); {
	case packageName(a) != packageName(b):
		c.add(Package, at+"/identifier", "another package: %s instead of %s", jsonpos.Quote(packageName(b)), jsonpos.Quote(packageName(a)))
	case version && deref(a.FileSHA256) != deref(b.FileSHA256) && a.Identifier == b.Identifier:
		c.add(Content, at+"/fileSha256", "another file under the same version")
	case sameVersion && (!version || a.Identifier != b.Identifier || deref(a.FileSHA256) != deref(b.FileSHA256)):
		c.add(Content, at+"/version", "another package under the same version of the server")
	case !version || a.Identifier != b.Identifier:
		c.add(Update, at+"/version", "version %s of the package instead of %s", jsonpos.Quote(deref(b.Version)), jsonpos.Quote(deref(a.Version)))
	}
	if host(a.Identifier) != host(b.Identifier) {
		c.newHost(all, at+"/identifier", b.Identifier)
	}
	if deref(a.RegistryBaseURL) != deref(b.RegistryBaseURL) {
		c.add(Host, at+"/registryBaseUrl", "another registry: %s", jsonpos.Quote(deref(b.RegistryBaseURL)))
	}
	if deref(a.RuntimeHint) != deref(b.RuntimeHint) {
		c.add(Command, at+"/runtimeHint", "another launcher: %s", jsonpos.Quote(deref(b.RuntimeHint)))
	}
	if a.Transport.Type != b.Transport.Type {
		c.add(Package, at+"/transport/type", "transport %s instead of %s", jsonpos.Quote(string(b.Transport.Type)), jsonpos.Quote(string(a.Transport.Type)))
	}
	if a.Transport.URL != b.Transport.URL {
		c.url(all, at+"/transport/url", a.Transport.URL, b.Transport.URL)
	}
	c.packageInputs(at, a, b)
	c.same(at, a.Extra, b.Extra)
}

// packageInputs compares the inputs of two packages.
func (c *comparison) packageInputs(at string, a, b *manifest.Package) {
	c.inputs(at+"/runtimeArguments", argumentInputs(a.RuntimeArguments), argumentInputs(b.RuntimeArguments))
	c.inputs(at+"/packageArguments", argumentInputs(a.PackageArguments), argumentInputs(b.PackageArguments))
	c.inputs(at+"/environmentVariables", settingInputs(a.EnvironmentVariables), settingInputs(b.EnvironmentVariables))
	c.inputs(at+"/transport/headers", settingInputs(a.Transport.Headers), settingInputs(b.Transport.Headers))
}

// remotes pairs remotes by host and type.
func (c *comparison) remotes(before, after *manifest.Server) {
	pairs := pair(len(before.Remotes), len(after.Remotes), func(i, j int) int {
		a, b := &before.Remotes[i], &after.Remotes[j]
		switch {
		case a.URL == b.URL && a.Type == b.Type:
			return 3
		case host(a.URL) == host(b.URL):
			return 2
		}
		return 1
	})
	for j := range after.Remotes {
		r, at := &after.Remotes[j], fmt.Sprintf("/remotes/%d", j)
		i := slices.Index(pairs, j)
		if i < 0 {
			c.add(Package, at, "a new remote: %s", jsonpos.Quote(r.URL))
			c.newHost(before, at+"/url", r.URL)
			c.inputs(at+"/headers", nil, settingInputs(r.Headers))
			c.inputs(at+"/variables", nil, variableInputs(r.Variables))
			continue
		}
		old := &before.Remotes[i]
		if old.Type != r.Type {
			c.add(Package, at+"/type", "transport %s instead of %s", jsonpos.Quote(string(r.Type)), jsonpos.Quote(string(old.Type)))
		}
		if old.URL != r.URL {
			c.url(before, at+"/url", old.URL, r.URL)
		}
		c.inputs(at+"/headers", settingInputs(old.Headers), settingInputs(r.Headers))
		c.inputs(at+"/variables", variableInputs(old.Variables), variableInputs(r.Variables))
		c.same(at, old.Extra, r.Extra)
	}
	for i := range before.Remotes {
		if pairs[i] < 0 {
			c.add(Update, fmt.Sprintf("/remotes/%d", i), "a remote less: %s", jsonpos.Quote(before.Remotes[i].URL))
		}
	}
}

// url compares two urls.
func (c *comparison) url(all *manifest.Server, pointer, before, after string) {
	if host(before) == host(after) {
		c.add(Command, pointer, "another url on the same host")
		return
	}
	if !c.newHost(all, pointer, after) {
		c.add(Command, pointer, "the url of another host of this manifest")
	}
}

// newHost reports a url whose host none of the older manifest has.
func (c *comparison) newHost(before *manifest.Server, pointer, link string) bool {
	h := host(link)
	if h == "" || isLocalHost(h) {
		return h != ""
	}
	known := slices.ContainsFunc(before.Remotes, func(r manifest.Remote) bool { return host(r.URL) == h }) ||
		slices.ContainsFunc(before.Packages, func(p manifest.Package) bool { return host(p.Identifier) == h || host(p.Transport.URL) == h })
	if !known {
		c.add(Host, pointer, "a new host: %s", jsonpos.Quote(h))
	}
	return !known
}

// host returns the scheme, host and port of a url, which may have variables, "" if it has none.
func host(link string) string {
	scheme, rest, found := strings.Cut(link, "://")
	if !found {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return strings.ToLower(scheme + "://" + rest)
}

// isLocalHost reports whether the host of a url is this machine.
func isLocalHost(h string) bool {
	_, name, _ := strings.Cut(h, "://")
	return slices.ContainsFunc([]string{"localhost", "127.0.0.1", "[::1]", "0.0.0.0"}, func(local string) bool {
		return name == local || strings.HasPrefix(name, local+":")
	})
}

// namedInput is an input with what identifies it among its list.
type namedInput struct {
	name      string
	input     *manifest.Input
	repeated  bool
	variables []manifest.Variable
}

func argumentInputs(args []manifest.Argument) []namedInput {
	var all []namedInput
	for i := range args {
		a := &args[i]
		name := a.Name
		if a.Type == manifest.PositionalArgument {
			name = cmp.Or(deref(a.ValueHint), deref(a.Value), "argument")
		}
		all = append(all, namedInput{name, &a.Input, a.IsRepeated != nil && *a.IsRepeated, a.Variables})
	}
	return all
}

func settingInputs(list []manifest.KeyValueInput) []namedInput {
	var all []namedInput
	for i := range list {
		all = append(all, namedInput{list[i].Name, &list[i].Input, false, list[i].Variables})
	}
	return all
}

func variableInputs(list []manifest.Variable) []namedInput {
	var all []namedInput
	for i := range list {
		all = append(all, namedInput{list[i].Name, &list[i].Input, false, nil})
	}
	return all
}

// inputs compares lists of inputs.
func (c *comparison) inputs(pointer string, before, after []namedInput) {
	pairs := pair(len(before), len(after), func(i, j int) int {
		if before[i].name == after[j].name {
			return 3
		}
		return 0
	})
	last := -1
	for j := range after {
		at := fmt.Sprintf("%s/%d", pointer, j)
		if strings.HasSuffix(pointer, "/variables") {
			at = pointer + "/" + jsonpos.EscapeToken(after[j].name)
		}
		i := slices.Index(pairs, j)
		if i < 0 {
			c.newInput(at, &after[j])
			continue
		}
		if strings.HasSuffix(pointer, "Arguments") && i < last {
			c.add(Command, at, "the arguments are in another order")
		}
		last = max(last, i)
		c.input(at, &before[i], &after[j])
	}
	for i := range before {
		if pairs[i] >= 0 {
			continue
		}
		risk := Update
		if before[i].input.Value != nil {
			risk = Command
		}
		c.add(risk, pointer, "%s is no longer there", jsonpos.Quote(before[i].name))
	}
}

// newInput reports an input that the older manifest does not have.
func (c *comparison) newInput(at string, n *namedInput) {
	name := jsonpos.Quote(n.name)
	switch in := n.input; {
	case in.Value != nil:
		c.add(Command, at, "a new fixed value: %s", name)
		c.inputs(at+"/variables", nil, variableInputs(n.variables))
	case isTrue(in.IsSecret):
		c.add(Secret, at, "a new secret: %s", name)
	case isTrue(in.IsRequired) && in.Default == nil:
		c.add(Required, at, "a new required input: %s", name)
	default:
		c.add(Input, at, "a new optional input: %s", name)
	}
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

// input compares two inputs of the same name.
func (c *comparison) input(at string, before, after *namedInput) {
	a, b, name := before.input, after.input, jsonpos.Quote(after.name)
	if deref(a.Value) != deref(b.Value) || (a.Value == nil) != (b.Value == nil) {
		c.add(Command, at+"/value", "another fixed value of %s", name)
	}
	if !isTrue(a.IsSecret) && isTrue(b.IsSecret) {
		c.add(Secret, at+"/isSecret", "%s is a secret now", name)
	} else if isTrue(a.IsSecret) && !isTrue(b.IsSecret) {
		c.add(Command, at+"/isSecret", "%s is no longer a secret, and may be shown", name)
	}
	if must := func(in *manifest.Input) bool { return isTrue(in.IsRequired) && in.Default == nil && in.Value == nil }; !must(a) && must(b) {
		c.add(Required, at+"/isRequired", "%s is required now", name)
	} else if must(a) != must(b) || isTrue(a.IsRequired) != isTrue(b.IsRequired) {
		c.add(Input, at+"/isRequired", "%s is required in other cases", name)
	}
	if deref(a.Default) != deref(b.Default) || (a.Default == nil) != (b.Default == nil) {
		c.add(Input, at+"/default", "another default of %s", name)
	}
	if !slices.Equal(a.Choices, b.Choices) || deref(a.Format) != deref(b.Format) || before.repeated != after.repeated {
		c.add(Input, at, "%s takes other values", name)
	}
	c.text(at+"/description", a.Description, b.Description)
	c.text(at+"/placeholder", a.Placeholder, b.Placeholder)
	c.same(at, a.Extra, b.Extra)
	c.inputs(at+"/variables", variableInputs(before.variables), variableInputs(after.variables))
}
