package manifest

import "fmt"

// Profile is a set of rules to validate by.
type Profile uint8

// The profiles. The dated ones are the public schemas of those days: what the
// specification's text adds is a warning there. Registry is Neutral with the rules
// that a public registry adds.
const (
	Neutral Profile = iota
	Schema20250929
	Schema20251017
	Schema20251211
	Registry
	profiles
)

// names of the profiles, in their order.
var profileNames = [profiles]string{"neutral", "2025-09-29", "2025-10-17", "2025-12-11", "registry"}

// ParseProfile returns the profile of a name: neutral, 2025-09-29, 2025-10-17,
// 2025-12-11 or registry.
func ParseProfile(name string) (Profile, error) {
	for i, known := range profileNames {
		if name == known {
			return Profile(i), nil
		}
	}
	return Neutral, fmt.Errorf("there is no profile %s: use neutral, 2025-09-29, 2025-10-17, 2025-12-11 or registry", show(name))
}

// String returns the name that ParseProfile takes.
func (p Profile) String() string {
	if p >= profiles {
		return fmt.Sprintf("Profile(%d)", uint8(p))
	}
	return profileNames[p]
}

// traits is in what a profile differs from the others.
type traits struct {
	// prose is the severity of what only the specification's text says.
	prose Severity
	// variableFirst allows a url that begins with a variable.
	variableFirst bool
	// uriSSE is how urls were before they were templates: those of sse transports
	// URIs, those of streamable HTTP any string, and no variables in a remote.
	uriSSE bool
	// noPresentation: titles, icons and placeholders were not known, and unknown
	// keys are free.
	noPresentation bool
	// strictPackage allows no unknown keys in a package and wants its version.
	strictPackage bool
	// versionMax bounds a package's version.
	versionMax int
	// registry adds the rules of LayerRegistry.
	registry bool
}

func (p Profile) traits() traits {
	switch p {
	case Schema20250929:
		return traits{prose: Warning, uriSSE: true, noPresentation: true, strictPackage: true, versionMax: unbounded}
	case Schema20251017:
		return traits{prose: Warning, uriSSE: true, versionMax: unbounded}
	case Schema20251211:
		return traits{prose: Warning, versionMax: 255}
	}
	return traits{prose: Error, variableFirst: true, versionMax: 255, registry: p == Registry}
}

const unbounded = int(^uint(0) >> 1)
