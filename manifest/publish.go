package manifest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// publicType states what the public registry requires of packages of a registryType when it publishes them, beside
// that they exist and name their server. Source: internal/validators/registries of that registry, 1.8.9.
type publicType struct {
	label string
	base  string // the only registryBaseUrl, to the letter; "" for none
	image bool   // the identifier is a reference to an image, and has the version
	file  bool   // the identifier is the url of a file, with fileSha256
}

var publicTypes = [...]publicType{
	{label: NPM, base: "https://registry.npmjs.org"},
	{label: PyPI, base: "https://pypi.org"},
	{label: NuGet, base: "https://api.nuget.org/v3/index.json"},
	{label: Cargo, base: "https://crates.io"},
	{label: OCI, image: true},
	{label: MCPB, file: true},
}

// publicPackage reports what keeps a package out of the public registry: errors in the profile Publish, and warnings in the
// profile Registry, because other registries have packages of their own.
func (v *validator) publicPackage(n *Node) {
	if !v.registry {
		return
	}
	var label, identifier, version, hash, base *Node
	for i := range n.Members {
		m := &n.Members[i]
		if m.Shadowed {
			continue
		}
		switch m.Key {
		case "registryType":
			label = &m.Value
		case "identifier":
			identifier = &m.Value
		case "version":
			version = &m.Value
		case "fileSha256":
			hash = &m.Value
		case "registryBaseUrl":
			base = &m.Value
		}
	}
	if stringOf(label) == "" || stringOf(identifier) == "" {
		return // reported already
	}
	i := slices.IndexFunc(publicTypes[:], func(t publicType) bool { return t.label == label.Text })
	if i < 0 {
		known := slices.ContainsFunc(publicTypes[:], func(t publicType) bool { return strings.EqualFold(t.label, label.Text) })
		if !known {
			v.public("registryType", rulePublicType, label, "the public registry has no packages of the registryType %s", jsonpos.Quote(label.Text)).
				suggest("use npm, pypi, oci, nuget, cargo or mcpb")
		} else if v.publishing {
			v.public("registryType", rulePublicType, label, "registryType %s is not in lower case", jsonpos.Quote(label.Text)).
				suggest("write it in lower case").fix(label.Start, label.End, `"`+strings.ToLower(label.Text)+`"`)
		}
		return
	}
	t := &publicTypes[i]
	switch {
	case t.image && stringOf(version) != "":
		name, _, _ := grammar.CutImage(identifier.Text)
		v.public("version", rulePublicVersion, version, "an image of the public registry has its version in the identifier only").
			suggest("write it after the identifier, such as %s, and remove version", jsonpos.Quote(name+":"+version.Text))
	case !t.image && !t.file && version == nil:
		v.public("", rulePublicVersion, n, "%s has no version, which the public registry requires", v.subject()).suggest("add the version of the package")
	}
	if stringOf(hash) != "" && !t.file {
		v.public("fileSha256", rulePublicHash, hash, "only bundle files have a fileSha256 in the public registry").
			suggest("remove it").apply(v.removalOf(n, "fileSha256"))
	}
	if have := stringOf(base); have != "" && have != t.base {
		p := v.public("registryBaseUrl", rulePublicBase, base, "registryBaseUrl %s is not that of the public registry for %s", jsonpos.Quote(have), t.label)
		switch {
		case t.base == "":
			p.suggest("remove it: the identifier has the host")
			if image, err := url.Parse(have); t.file || err == nil && strings.HasPrefix(identifier.Text, image.Host+"/") {
				p.apply(v.removalOf(n, "registryBaseUrl"))
			}
		case grammar.IsDefaultRegistry(t.label, have):
			p.suggest("write %s, to the letter", t.base).fix(base.Start, base.End, `"`+t.base+`"`)
		default:
			p.suggest("leave it out, or write %s, to the letter", t.base)
		}
	}
	reason := ""
	switch {
	case t.image:
		reason = imageFault(identifier.Text)
	case t.file:
		reason = bundleFault(identifier.Text)
	}
	if reason != "" {
		v.public("identifier", rulePublicIdentifier, identifier, "identifier %s %s", jsonpos.Quote(identifier.Text), reason)
	}
}

// public reports what the public registry refuses, in a member or the value itself.
func (v *validator) public(key string, rule Rule, n *Node, format string, args ...any) (p *Problem) {
	severity := Warning
	if v.publishing {
		severity = Error
	}
	if key == "" {
		return v.report(severity, rule, n, format, args...)
	}
	v.at(key, func() { p = v.report(severity, rule, n, format, args...) })
	return p
}

// removalOf is removal by the name of a member.
func (v *validator) removalOf(n *Node, key string) *Edit {
	return v.removal(n, slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == key && !m.Shadowed }))
}

var (
	githubFile = regexp.MustCompile(`^/[a-zA-Z0-9]([a-zA-Z0-9-]{0,37}[a-zA-Z0-9])?/[a-zA-Z0-9._-]+/releases/download/[^/]+/[^/]+$`)
	gitlabFile = regexp.MustCompile(`^/[a-zA-Z0-9._-]+(/[a-zA-Z0-9._-]+)*/-/(releases/[^/]+/downloads/[^/]+|package_files/[0-9]+/download)$`)
)

// imageFault returns why the public registry refuses a reference to an image, or "".
func imageFault(reference string) string {
	name, digest, hasDigest := strings.Cut(reference, "@")
	name, tag, _ := grammar.CutImage(name)
	host, path, found := strings.Cut(name, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, path = "docker.io", name
	}
	switch {
	case len(path) < 2 || len(path) > 255 || strings.Trim(path, "abcdefghijklmnopqrstuvwxyz0123456789_./-") != "",
		len(tag) > 128 || !grammar.Only(tag, "_.-"), strings.HasSuffix(reference, ":"):
		return "is not a reference to an image: write host/owner/image:version in lower case"
	case hasDigest && (!strings.HasPrefix(digest, "sha256:") || !grammar.IsSHA256(digest[len("sha256:"):])):
		return "has a digest that is not sha256: and 64 hexadecimal characters"
	case slices.Contains([]string{"docker.io", "registry-1.docker.io", "index.docker.io", "ghcr.io", "quay.io", "mcr.microsoft.com"}, host),
		strings.HasSuffix(host, ".pkg.dev"), strings.HasSuffix(host, ".azurecr.io"):
		return ""
	}
	return "is at a host that the public registry does not know: use docker.io, ghcr.io, quay.io, mcr.microsoft.com, *.pkg.dev or *.azurecr.io"
}

// bundleFault returns why the public registry refuses the url of a bundle, or "".
func bundleFault(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "is not a URL"
	}
	switch host := strings.TrimPrefix(strings.ToLower(u.Host), "www."); {
	case host != "github.com" && host != "gitlab.com":
		return "is not a file of a release at github.com or gitlab.com, which the public registry requires"
	case host == "github.com" && !githubFile.MatchString(u.Path):
		return "is not a file of a release: write https://github.com/OWNER/REPOSITORY/releases/download/TAG/FILE"
	case host == "gitlab.com" && !gitlabFile.MatchString(u.Path):
		return "is not a file of a release: write https://gitlab.com/OWNER/PROJECT/-/releases/TAG/downloads/FILE"
	case u.Scheme != "https":
		return "is not https"
	case !strings.Contains(strings.ToLower(link), "mcp"):
		return `does not contain "mcp", which the public registry requires`
	}
	return ""
}

// maxPublisherMeta is the maximum size of publisher metadata in bytes, as the registry writes it.
const maxPublisherMeta = 4096

// publisherMeta limits the size of publisher metadata.
func publisherMeta(v *validator, n *Node) {
	anyObject(v, n)
	if size := n.End - n.Start; v.registry && size > maxPublisherMeta {
		if size = grammar.CompactSize(v.json.Text[n.Start:n.End]); size > maxPublisherMeta {
			v.fault(rulePublisherMeta, n, "publisher metadata has %d bytes: at most %d are allowed", size, maxPublisherMeta).suggest("shorten it")
		}
	}
}
