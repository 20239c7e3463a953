package registry

import (
	"cmp"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Ranked has the properties that decide which version is the latest one of a server.
type Ranked struct {
	Version     string
	PublishedAt time.Time
	Deleted     bool
}

// Latest returns the index of the latest version, or -1 without versions. It is the highest semantic version
// that is not deleted. Versions that are not semantic are lower than those, and the one published last is
// the highest of them. If all are deleted, it is the highest deleted one.
func Latest(versions []Ranked) int {
	best := -1
	for i := range versions {
		if best < 0 || higher(&versions[i], &versions[best]) {
			best = i
		}
	}
	return best
}

// higher reports whether a is later than b.
func higher(a, b *Ranked) bool {
	if a.Deleted != b.Deleted {
		return b.Deleted
	}
	return cmp.Or(semver.Compare(semantic(a.Version), semantic(b.Version)), a.PublishedAt.Compare(b.PublishedAt), strings.Compare(a.Version, b.Version)) > 0
}

// semantic returns a semantic version in the form that package semver reads, "" for any other version. Zeros before
// its three numbers are removed, because dates such as 2025.09.01 are used as versions.
func semantic(version string) string {
	core, rest := version, ""
	if i := strings.IndexAny(version, "-+"); i >= 0 {
		core, rest = version[:i], version[i:]
	}
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 {
		return ""
	}
	for i, n := range numbers {
		if numbers[i] = strings.TrimLeft(n, "0"); n != "" && numbers[i] == "" {
			numbers[i] = "0"
		}
	}
	return "v" + strings.Join(numbers, ".") + rest
}
