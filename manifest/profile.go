package manifest

import (
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest/internal/grammar"
)

// Profile is a set of rules (REFERENCE.md, 1).
type Profile uint8

// The profiles. Neutral is the specification. The dated profiles are the public schemas
// of those days; what only the text of the specification requires is a warning there.
// Registry is Neutral with the rules that a public registry adds.
const (
	Neutral Profile = iota
	Schema20250929
	Schema20251017
	Schema20251211
	Registry
)

// profileNames returns the names of the profiles in their order.
func profileNames() []string {
	return []string{"neutral", "2025-09-29", "2025-10-17", "2025-12-11", "registry"}
}

// ParseProfile returns the profile with a name: neutral, 2025-09-29, 2025-10-17,
// 2025-12-11 or registry.
func ParseProfile(name string) (Profile, error) {
	if i := slices.Index(profileNames(), name); i >= 0 {
		return Profile(i), nil
	}
	return Neutral, fmt.Errorf("unknown profile %s: use %s", jsonpos.Quote(name), grammar.Alternatives(profileNames()))
}

// String returns the name that ParseProfile accepts.
func (p Profile) String() string {
	if p > Registry {
		return fmt.Sprintf("Profile(%d)", uint8(p))
	}
	return profileNames()[p]
}

// traits are the differences between the profiles.
type traits struct {
	// prose is the severity of what only the text of the specification requires.
	prose Severity
	// variableFirst allows a url that begins with a variable.
	variableFirst bool
	// plainURLs: urls are no templates yet, those of sse transports are URIs and those of
	// streamable HTTP any strings, and remotes have no variables.
	plainURLs bool
	// noPresentation: titles, icons and placeholders are unknown keys.
	noPresentation bool
	// strictPackage allows no unknown keys in a package and requires its version.
	strictPackage bool
	// versionMax limits the length of a package's version.
	versionMax int
	// registry adds the rules of CategoryRegistry.
	registry bool
}

func (p Profile) traits() traits {
	switch p {
	case Schema20250929:
		return traits{prose: Warning, plainURLs: true, noPresentation: true, strictPackage: true, versionMax: noLimit}
	case Schema20251017:
		return traits{prose: Warning, plainURLs: true, versionMax: noLimit}
	case Schema20251211:
		return traits{prose: Warning, versionMax: 255}
	}
	return traits{prose: Error, variableFirst: true, versionMax: 255, registry: p == Registry}
}
