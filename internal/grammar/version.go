package grammar

import "strings"

// operators are the comparisons of npm, Cargo, PEP 440, RubyGems and Composer, longer
// ones first.
var operators = [...]string{"===", "~=", "~>", "==", "!=", ">=", "<=", "^", "~", ">", "<", "="}

// RangeReason returns what makes a version a range, or "" for a single version
// (REFERENCE.md, 4). Prereleases such as 1.0.0-x.7 and names such as
// "snapshot - 2025.09" are not ranges.
func RangeReason(version string) string {
	if !strings.ContainsAny(version, "^~<>=!|*xX[(, \t") {
		return "" // nothing of what a range has
	}
	s := strings.TrimSpace(version)
	switch {
	case s != "" && strings.Trim(s, "^~<>=! ") == "":
		return "an operator needs a version"
	case strings.Contains(s, "||"):
		return "|| separates alternatives"
	case isInterval(s):
		return "brackets enclose an interval"
	case isHyphenRange(s):
		return "a hyphen between spaces joins two versions"
	}
	parts := strings.FieldsFunc(joinOperators(s), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	versions := 0
	for _, part := range parts {
		switch op, rest := cutOperator(part); {
		case op != "" && isVersionLike(rest):
			return op + " compares versions"
		case isWildcard(part):
			return "x and * match any number"
		case isVersionLike(part):
			versions++
		}
	}
	if strings.Contains(s, ",") && versions > 1 && versions == len(parts) {
		return "a comma separates versions"
	}
	return ""
}

// FirstVersion returns the first single version that a range mentions, or "".
func FirstVersion(s string) string {
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("^~<>=!|[](), ", c) }) {
		if isVersionLike(part) && !isWildcard(part) && part != "latest" {
			return part
		}
	}
	return ""
}

// Pinned returns the version of a range that has one and allows it, such as 1.2 of ^1.2 and
// [1.2], or "".
func Pinned(version string) string {
	s := strings.TrimSpace(version)
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSpace(strings.TrimSuffix(inner, "]"))
	} else {
		op, rest := cutOperator(strings.TrimSpace(joinOperators(s)))
		switch op {
		case "^", "~", "~>", "~=", "=", "==", "===", ">=":
			s = rest
		default:
			return ""
		}
	}
	if !isVersionLike(s) || isWildcard(s) || s == "latest" {
		return ""
	}
	return s
}

// joinOperators removes the space after operators: ">= 1.2" becomes ">=1.2".
func joinOperators(s string) string {
	var b strings.Builder
	for f := range strings.FieldsSeq(s) {
		b.WriteString(f)
		if op, rest := cutOperator(f); op == "" || rest != "" {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func cutOperator(s string) (op, rest string) {
	for _, op := range operators {
		if rest, ok := strings.CutPrefix(s, op); ok {
			return op, rest
		}
	}
	return "", s
}

// isVersionLike reports whether s can follow an operator: a version, latest, or a
// wildcard.
func isVersionLike(s string) bool {
	if s == "latest" || isWildcard(s) {
		return true
	}
	s = withoutV(s)
	return s != "" && isDigit(s[0]) && Only(s, ".-+_!*~")
}

// withoutV removes the v before a digit or a wildcard.
func withoutV(s string) string {
	if len(s) > 1 && s[0]|0x20 == 'v' {
		return s[1:]
	}
	return s
}

// isWildcard reports whether a component of a version is x, X or * and all others are
// numbers. In a prerelease or build only * counts, because neither can contain it.
func isWildcard(s string) bool {
	core, rest := withoutV(s), ""
	if i := strings.IndexAny(core, "-+"); i >= 0 {
		core, rest = core[:i], core[i+1:]
	}
	wild, numbers := 0, 0
	for component := range strings.SplitSeq(core, ".") {
		switch {
		case component == "*", component == "x", component == "X":
			wild++
		case IsDigits(component):
			numbers++
		default:
			return false
		}
	}
	if wild > 0 {
		// x-ray and x.y are names, 1.x-beta and *-rc are not.
		return numbers > 0 || rest == "" || strings.Contains(core, "*")
	}
	for component := range strings.SplitSeq(rest, ".") {
		if component == "*" {
			return true
		}
	}
	return false
}

// isInterval recognizes [1.0,2.0), (,1.0] and [1.0] (Maven, NuGet).
func isInterval(s string) bool {
	if len(s) < 3 || strings.IndexByte("[(", s[0]) < 0 || strings.IndexByte("])", s[len(s)-1]) < 0 {
		return false
	}
	versions := 0
	for part := range strings.SplitSeq(s[1:len(s)-1], ",") {
		switch part = strings.TrimSpace(part); {
		case isVersionLike(part):
			versions++
		case part != "":
			return false
		}
	}
	return versions > 0
}

// isHyphenRange recognizes "1.0 - 2.0". Without spaces it is a date or a prerelease,
// without a version on both sides a name.
func isHyphenRange(s string) bool {
	left, right, ok := strings.Cut(s, " - ")
	return ok && isVersionLike(strings.TrimSpace(left)) && isVersionLike(strings.TrimSpace(right))
}

// CutImage splits the reference of an image.
func CutImage(ref string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(ref, "@")
	slash := strings.LastIndexByte(name, '/') + 1
	last, tag, _ := strings.Cut(name[slash:], ":")
	return name[:slash] + last, tag, digest
}

// image is a reference to a container image.
type image struct {
	Reference string
	// Based reports that the registry comes from the base url.
	Based bool
	// Pinned reports that one version is named: a digest, or a tag other than latest.
	Pinned bool
}

// NewImage joins identifier, version and the url of a registry, as older manifests have
// them, to a reference. The version becomes the tag or digest unless the identifier has
// one.
func NewImage(identifier, version, base string) image {
	i := image{Reference: identifier, Pinned: version != ""}
	if host := registryHost(base); host != "" {
		i.Based = true
		if first, _, slash := strings.Cut(identifier, "/"); !slash || !strings.ContainsAny(first, ".:") && first != "localhost" {
			i.Reference = host + "/" + identifier
		}
	}
	last := i.Reference[strings.LastIndexByte(i.Reference, '/')+1:]
	_, tag, tagged := strings.Cut(last, ":")
	switch {
	case strings.Contains(last, "@"):
		i.Pinned = true
	case tagged:
		i.Pinned = tag != "latest"
	case strings.HasPrefix(version, "sha256:"):
		i.Reference += "@" + version
	case version != "":
		i.Reference += ":" + version
	}
	return i
}

// registryHost returns the host of a registry's url if it can be part of an image's
// reference, or "".
func registryHost(base string) string {
	_, host, _ := strings.Cut(base, "://")
	host = strings.TrimRight(host, "/")
	if host == "" || !IsAlphanumeric(host[0]) || !Only(host, "-.:/") {
		return ""
	}
	return host
}
