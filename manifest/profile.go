package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Profile is a set of rules (REFERENCE.md, 1).
type Profile uint8

// The profiles. Neutral is the specification. The dated profiles are the public schemas
// of those days; what only the text of the specification requires is a warning there.
// Registry is Neutral with the rules that a public registry adds. Declared is the dated
// profile that the $schema of a document names. Publish is Registry with what the public registry requires of
// packages when it publishes them, which are warnings in Registry.
const (
	Neutral Profile = iota
	Schema20250929
	Schema20251017
	Schema20251211
	Registry
	Declared
	Publish
)

// profileNames returns the names of the profiles in their order.
func profileNames() []string {
	return []string{"neutral", "2025-09-29", "2025-10-17", "2025-12-11", "registry", "declared", "publish"}
}

// ParseProfile returns the profile with a name: neutral, 2025-09-29, 2025-10-17,
// 2025-12-11, registry, declared or publish.
func ParseProfile(name string) (Profile, error) {
	if i := slices.Index(profileNames(), name); i >= 0 {
		return Profile(i), nil
	}
	return Neutral, fmt.Errorf("unknown profile %s: use %s", jsonpos.Quote(name), grammar.Alternatives(profileNames()))
}

// String returns the name that ParseProfile accepts.
func (p Profile) String() string {
	if p > Publish {
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
	// underscores: keys may have the names of the first schema, such as registry_type.
	underscores bool
	// registry adds the rules of CategoryRegistry.
	registry bool
	// publishing makes those of CategoryPublish errors.
	publishing bool
	// dated: the rules are those of a date, whatever the $schema is.
	dated bool
}

// known returns the present name of a key.
func (t *traits) known(key string) string {
	if t.underscores {
		return cmp.Or(newNames[key], key)
	}
	return key
}

// present returns the name that a key has under the profile.
func (t *traits) present(name string) string {
	if t.underscores {
		return oldName(name)
	}
	return name
}

// traits returns the rules for a document with a $schema.
func (p Profile) traits(schema string) traits {
	switch p {
	case Declared:
		return declared(schemaDateOf(schema))
	case Schema20250929:
		return traits{prose: Warning, plainURLs: true, noPresentation: true, strictPackage: true, versionMax: noLimit, dated: true}
	case Schema20251017:
		return traits{prose: Warning, plainURLs: true, versionMax: noLimit, dated: true}
	case Schema20251211:
		return traits{prose: Warning, versionMax: 255, dated: true}
	}
	return traits{prose: Error, variableFirst: true, versionMax: 255, registry: p == Registry || p == Publish, publishing: p == Publish}
}

// declared returns the rules of a date. The schemas before 2025-09-29 differ from that one
// in names and in keys that it does not know, 2025-10-11 and 2025-10-17 in their text.
// Without a known date the rules are those of Neutral, as for a draft.
func declared(date string) traits {
	t := Neutral.traits("")
	switch date {
	case "2025-07-09", "2025-09-16", "2025-09-29":
		t = Schema20250929.traits("")
	case "2025-10-11", "2025-10-17":
		t = Schema20251017.traits("")
	case currentDate:
		t = Schema20251211.traits("")
	}
	t.dated = false
	t.underscores = date == "2025-07-09"
	return t
}
