package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
	"github.com/ashlar-go/ashlar/manifest/registry"
)

// maxVersions is the number of versions that the page of a server lists.
const maxVersions = 200

// rowOf returns a server for the list. Of a manifest that is not valid it has what can be read.
func rowOf(e *registry.Entry) row {
	var read struct {
		Title, Description any
		Packages, Remotes  []struct{ RegistryType any }
	}
	_ = json.Unmarshal(e.Server, &read) // what has another type is left out
	r := row{Entry: e}
	r.Title, _ = read.Title.(string)
	r.Description, _ = read.Description.(string)
	for _, p := range read.Packages {
		if kind, ok := p.RegistryType.(string); ok && kind != "" && !slices.Contains(r.Kinds, kind) {
			r.Kinds = append(r.Kinds, kind)
		}
	}
	if len(read.Remotes) > 0 {
		r.Kinds = append(r.Kinds, "remote")
	}
	return r
}

// detail is the data of the page of a version.
type detail struct {
	row
	Versions   []registry.Entry
	More       int    // versions that are not listed
	Invalid    string // why the parts of the manifest cannot be shown
	Website    string
	Repository string
	Packages   []pack
	Remotes    []remote
	Raw        string
}

// pack is a package.
type pack struct {
	*manifest.Package
	Line        string   // to launch it
	Examples    bool     // Line has values of examples
	Environment []string // names of variables
	Faults      []string // why there is no line
	Notices     []string
	Files       []manifest.File
	Inputs      []launch.Prompt
}

// remote is an endpoint.
type remote struct {
	*manifest.Remote
	Inputs []launch.Prompt
}

// detailOf returns the data of an entry.
func detailOf(e *registry.Entry, all []registry.Entry) (*detail, error) {
	d := &detail{row: rowOf(e), Versions: all}
	if len(all) > maxVersions {
		d.Versions, d.More = all[:maxVersions], len(all)-maxVersions
	}
	var raw bytes.Buffer
	if err := json.Indent(&raw, e.Server, "", "  "); err != nil {
		return nil, err
	}
	d.Raw = raw.String()
	s := &manifest.Server{}
	if err := json.Unmarshal(e.Server, s); err != nil {
		d.Invalid = err.Error()
		return d, nil
	}
	if s.WebsiteURL != nil {
		d.Website = safeLink(*s.WebsiteURL)
	}
	if s.Repository != nil {
		d.Repository = safeLink(s.Repository.URL)
	}
	for i := range s.Packages {
		d.Packages = append(d.Packages, packOf(&s.Packages[i]))
	}
	for i := range s.Remotes {
		d.Remotes = append(d.Remotes, remote{&s.Remotes[i], launch.RemoteForm(&s.Remotes[i]).Prompts})
	}
	return d, nil
}

// safeLink returns an https URL with a host, or "".
func safeLink(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// packOf plans a package with example values.
func packOf(p *manifest.Package) pack {
	shown := pack{Package: p, Inputs: launch.PackageForm(p).Prompts}
	values := examples(shown.Inputs)
	for i := range shown.Inputs {
		in := &shown.Inputs[i]
		shown.Examples = shown.Examples || values[in.Key] != nil && in.Role != launch.RoleEnvironment
	}
	plan, err := launch.ResolvePackage(p, values, &launch.Options{OmitUnfilled: true})
	if faults, ok := errors.AsType[launch.Faults](err); ok {
		for i := range faults {
			shown.Faults = append(shown.Faults, strings.TrimPrefix(faults[i].Error(), ": "))
		}
		return shown
	}
	if err != nil {
		shown.Faults = []string{err.Error()}
		return shown
	}
	for i := range plan.Notices {
		shown.Notices = append(shown.Notices, plan.Notices[i].Message)
	}
	for i := range plan.Environment {
		shown.Environment = append(shown.Environment, plan.Environment[i].Name)
	}
	shown.Files = plan.Files
	var lines []string
	for _, c := range append(slices.Clone(plan.Setup), plan.Command) {
		if len(c) == 0 {
			continue
		}
		if slices.ContainsFunc(c, isHidden) {
			shown.Faults = []string{"The command has control characters or invisible ones, so there is no line to copy."}
			return shown
		}
		lines = append(lines, c.String())
	}
	shown.Line = strings.Join(lines, "\n")
	return shown
}

// examples returns a value for each required input without a default.
func examples(prompts []launch.Prompt) launch.Values {
	values := launch.Values{}
	for i := range prompts {
		p := &prompts[i]
		if !p.Required || p.Default != nil {
			continue
		}
		name := others.ReplaceAllString(p.Name, "_")
		value := "YOUR_" + strings.ToUpper(name)
		switch {
		case len(p.Choices) > 0:
			value = p.Choices[0]
		case p.Format == "number":
			value = "1"
		case p.Format == "boolean":
			value = "true"
		case p.Format == "filepath":
			value = "/path/to/" + strings.Trim(name, "_")
		}
		values[p.Key] = []string{value}
	}
	return values
}

// others matches what is no letter or digit.
var others = regexp.MustCompile("[^A-Za-z0-9]")

// isHidden reports whether a word of a command has a character that is not printable.
func isHidden(word launch.Item) bool {
	return strings.ContainsFunc(word.Value.String(), func(c rune) bool { return !unicode.IsPrint(c) })
}
