package registry

import (
	"cmp"
	"strings"
	"time"
)

// Ranked is what decides whether a version is the latest one of its server.
type Ranked struct {
	Version     string
	PublishedAt time.Time
	Deleted     bool
}

// Latest returns the index of the latest version, or -1 without versions. It is the highest semantic version
// that is not deleted. Versions that are not semantic are lower than those, and the one published last is
// the highest of them. If all are deleted, it is the highest deleted one.
func Latest(versions []Ranked) int {
	best, bestKey := -1, semver{}
	for i := range versions {
		v := &versions[i]
		key := parseSemver(v.Version)
		if best < 0 || higher(v, &versions[best], &key, &bestKey) {
			best, bestKey = i, key
		}
	}
	return best
}

// higher reports whether a is later than b.
func higher(a, b *Ranked, aKey, bKey *semver) bool {
	if a.Deleted != b.Deleted {
		return b.Deleted
	}
	return cmp.Or(aKey.compare(bKey), a.PublishedAt.Compare(b.PublishedAt), strings.Compare(a.Version, b.Version)) > 0
}

// semver is a semantic version (semver.org). Leading zeros are allowed, because dates are used as versions.
type semver struct {
	valid      bool
	core       [3]string
	prerelease string
}

func parseSemver(s string) (v semver) {
	s, _, _ = strings.Cut(s, "+") // build metadata has no precedence
	core, prerelease, hasPrerelease := strings.Cut(s, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 || hasPrerelease && prerelease == "" {
		return v
	}
	for i, p := range parts {
		if !isNumber(p) {
			return v
		}
		v.core[i] = p
	}
	for _, c := range prerelease {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '-') {
			return v
		}
	}
	v.valid, v.prerelease = true, prerelease
	return v
}

// compare orders by precedence. Versions that are not valid are equal, and lower than others.
func (v *semver) compare(w *semver) int {
	switch {
	case !v.valid && !w.valid:
		return 0
	case v.valid != w.valid:
		if v.valid {
			return 1
		}
		return -1
	}
	for i := range v.core {
		if c := compareNumbers(v.core[i], w.core[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.prerelease == w.prerelease:
		return 0
	case v.prerelease == "":
		return 1
	case w.prerelease == "":
		return -1
	}
	a, b := strings.Split(v.prerelease, "."), strings.Split(w.prerelease, ".")
	for i := range min(len(a), len(b)) {
		if c := compareIdentifiers(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareIdentifiers compares parts of prereleases: numbers by value and before words.
func compareIdentifiers(a, b string) int {
	switch aNumber, bNumber := isNumber(a), isNumber(b); {
	case aNumber && bNumber:
		return compareNumbers(a, b)
	case aNumber:
		return -1
	case bNumber:
		return 1
	}
	return strings.Compare(a, b)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
