package manifest

import "strings"

// serverVersion is the check of a server's version, which may be empty.
func serverVersion(v *validator, n *Node) {
	if !v.is(n, KindString) || !v.length(n, 0, 255) {
		return
	}
	if n.Text == "latest" {
		severity := Warning
		if v.registry {
			severity = Error
		}
		v.report(severity, RuleLatest, n, "version is latest, which says nothing").suggest("write the version, as 1.0.0")
		return
	}
	v.specific(n)
}

// packageVersion is the check of a package's version: never latest, never empty.
func packageVersion(v *validator, n *Node) {
	if !v.is(n, KindString) || !v.length(n, 1, v.versionMax) {
		return
	}
	if n.Text == "latest" {
		v.fault(RulePackageLatest, n, "%s is latest, which is not a specific version", v.trail.subject()).
			suggest("write the version that was tested, as 1.0.0")
		return
	}
	v.specific(n)
}

// specific reports a version that is a range of versions.
func (v *validator) specific(n *Node) {
	reason := rangeReason(n.Text)
	if reason == "" {
		v.placeholder(n)
		return
	}
	p := v.report(v.prose, RuleVersionRange, n, "%s is %s, which is a range and not a version: %s", v.trail.subject(), show(n.Text), reason)
	if pin := pinned(n.Text); pin != "" {
		p.suggest("name one version, as %s", pin)
	} else {
		p.suggest("name one version, as 1.0.0")
	}
}

// operators are the comparisons of npm, Cargo, PEP 440, RubyGems and Composer,
// the longer ones first.
var operators = [...]string{"===", "~=", "~>", "==", "!=", ">=", "<=", "^", "~", ">", "<", "="}

// rangeReason says by what a version is a range, or "" if it is a version.
// Reference, section 4: what looks for ranges must not find them in prereleases
// (1.0.0-x.7) and in names (snapshot - 2025.09).
func rangeReason(version string) string {
	s := strings.TrimSpace(version)
	switch {
	case strings.Contains(s, "||"):
		return "|| separates alternatives"
	case isInterval(s):
		return "brackets enclose an interval"
	case isHyphenRange(s):
		return "a hyphen between spaces goes from one version to another"
	}
	parts := strings.FieldsFunc(joinOperators(s), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	versions := 0
	for _, part := range parts {
		if op, rest := cutOperator(part); op != "" && isVersionLike(rest) {
			return op + " compares versions"
		}
		if isWildcard(part) {
			return "x and * stand for any number"
		}
		if isVersionLike(part) {
			versions++
		}
	}
	if strings.Contains(s, ",") && versions > 1 && versions == len(parts) {
		return "a comma separates versions"
	}
	return ""
}

// joinOperators removes spaces after operators: ">= 1.2" becomes ">=1.2".
func joinOperators(s string) string {
	fields := strings.Fields(s)
	var b strings.Builder
	for i, f := range fields {
		b.WriteString(f)
		if op, rest := cutOperator(f); (op == "" || rest != "") && i < len(fields)-1 {
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

// isVersionLike says that s is a version, latest, or a wildcard: what can stand
// after an operator.
func isVersionLike(s string) bool {
	if s == "latest" || isWildcard(s) {
		return true
	}
	s = withoutV(s)
	return s != "" && isDigit(s[0]) && only(s, ".-+_!*~")
}

// withoutV removes the v before a digit or a wildcard.
func withoutV(s string) string {
	if len(s) > 1 && s[0]|0x20 == 'v' {
		return s[1:]
	}
	return s
}

// isWildcard says that a component of a version is x, X or *: all components but
// those are numbers. A prerelease or build is looked at for * alone, which neither
// can contain.
func isWildcard(s string) bool {
	s = withoutV(s)
	core, rest := s, ""
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		core, rest = s[:i], s[i+1:]
	}
	wild, numbers := 0, 0
	for component := range strings.SplitSeq(core, ".") {
		switch {
		case component == "*", component == "x", component == "X":
			wild++
		case allDigits(component):
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

// isHyphenRange recognizes "1.0 - 2.0". Without the spaces it is a date or a
// prerelease, without versions on both sides a name.
func isHyphenRange(s string) bool {
	left, right, ok := strings.Cut(s, " - ")
	return ok && isVersionLike(strings.TrimSpace(left)) && isVersionLike(strings.TrimSpace(right))
}

// pinned returns the first version that a range mentions, or "".
func pinned(s string) string {
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("^~<>=!|[](), ", c) }) {
		if isVersionLike(part) && !isWildcard(part) && part != "latest" {
			return show(part)
		}
	}
	return ""
}
