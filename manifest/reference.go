package manifest

import (
	"fmt"
	"strings"
)

// reference is the package as a launcher takes it.
type reference struct {
	identifier, version, name string
	pinned                    bool // one version is named
	based                     bool // the registry is part of the identifier
}

// fill writes the words of a launcher.
func (f reference) fill(words []string) []string {
	values := map[string]string{"identifier": f.identifier, "version": f.version, "name": f.name}
	out := make([]string, len(words))
	for i, w := range words {
		filledIn, _, _ := substitute(w, func(name string) (filled, bool) {
			text, ok := values[name]
			return filled{text: text}, ok
		})
		out[i] = filledIn.text
	}
	return out
}

// reference checks that identifier and version are no more than names. A launcher
// reads other things as paths, addresses, aliases and options.
func (r *resolver) reference(p *Package) (reference, bool) {
	f := reference{identifier: p.Identifier, version: or(p.Version, "")}
	label := strings.ToLower(p.RegistryType)
	if _, own := r.opts.Launchers[p.RegistryType]; own {
		label = ""
	}
	if !isIdentifier(label, p.Identifier) {
		suggestion := "write the name alone"
		if found := findPlaceholder(p.Identifier); found != "" {
			suggestion = fmt.Sprintf("%s is a placeholder of a release template: fill it in first", show(found))
		}
		r.unfit("/identifier", suggestion, "identifier is %s, which is not the name of a package", show(p.Identifier))
		return f, false
	}
	if f.version != "" && !isVersion(label, f.version) {
		r.unfit("/version", "write one version, as 1.0.0", "version is %s, which is not one version of a package", show(f.version))
		return f, false
	}
	f.name, _, _ = strings.Cut(f.identifier, "[")
	f.pinned = f.version != ""
	if label == "oci" {
		f = f.image(or(p.RegistryBaseURL, ""))
	}
	return f, true
}

// isIdentifier says that s is a name in a registry, by the rules of its type.
func isIdentifier(label, s string) bool {
	if len(s) > maxText/2 || s == "" || !isAlphanumeric(s[0]) && s[0] != '@' && s[0] != '_' {
		return false
	}
	switch label {
	case "npm":
		scope, name, scoped := strings.Cut(s, "/")
		if !scoped {
			return s[0] != '@' && only(s, "-._~")
		}
		return s[0] == '@' && len(scope) > 1 && only(scope[1:], "-._~") && isPackageName(name)
	case "pypi":
		name, extras, bracket := strings.Cut(s, "[")
		extras, closed := strings.CutSuffix(extras, "]")
		return s[0] != '@' && only(name, "-._") && bracket == closed && only(extras, "-._,")
	case "oci":
		return s[0] != '@' && only(s, "-._/:@")
	case "nuget":
		return s[0] != '@' && only(s, "-._")
	case "cargo":
		return s[0] != '@' && only(s, "-_")
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || isSpace(c) })
}

func isPackageName(s string) bool { return s != "" && s[0] != '-' && s[0] != '.' && only(s, "-._~") }

// isVersion says that s is one version and nothing that a launcher reads otherwise.
func isVersion(label, s string) bool {
	if len(s) > 255 || s == "latest" || rangeReason(s) != "" || !isAlphanumeric(s[0]) {
		return false
	}
	if digest, ok := strings.CutPrefix(s, "sha256:"); ok && label == "oci" {
		return len(digest) == 64 && isHexDigits(digest)
	}
	switch label {
	case "oci":
		return len(s) <= 128 && only(s, "-._")
	case "pypi":
		return only(s, "-._+!")
	}
	return only(s, "-._+")
}

// image writes the reference of a container image. The version is a tag or digest
// unless the identifier has one; the oldest manifests name the registry by itself.
func (f reference) image(base string) reference {
	if host := hostOf(base); host != "" {
		f.based = true
		if first, _, slash := strings.Cut(f.identifier, "/"); !slash || !strings.ContainsAny(first, ".:") && first != "localhost" {
			f.identifier = host + "/" + f.identifier
		}
	}
	last := f.identifier[strings.LastIndexByte(f.identifier, '/')+1:]
	_, tag, tagged := strings.Cut(last, ":")
	switch {
	case strings.Contains(last, "@"):
		f.pinned = true
	case tagged:
		f.pinned = tag != "latest"
	case strings.HasPrefix(f.version, "sha256:"):
		f.identifier += "@" + f.version
	case f.version != "":
		f.identifier += ":" + f.version
	}
	return f
}

// hostOf is the host of a registry's url, if it is one that can be part of an image's
// name.
func hostOf(base string) string {
	_, host, ok := strings.Cut(base, "://")
	if !ok {
		return ""
	}
	host = strings.TrimRight(host, "/")
	if !only(host, "-.:/") || host == "" || !isAlphanumeric(host[0]) {
		return ""
	}
	return host
}
