package manifest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

// document returns a manifest with some keys set to JSON text.
func document(t testing.TB, set map[string]any) []byte {
	t.Helper()
	m := map[string]any{"name": "com.example/weather", "description": "d", "version": "1.0.0"}
	for key, value := range set {
		m[key] = value
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inPackage returns a manifest with a package that has some keys set.
func inPackage(t testing.TB, set map[string]any) []byte {
	t.Helper()
	return document(t, pack(set))
}

func rulesOf(ps manifest.Problems) []manifest.Rule {
	var rules []manifest.Rule
	for i := range ps {
		rules = append(rules, ps[i].Rule)
	}
	return rules
}

// TestVersionRanges checks ranges of package managers, and versions that look like ranges.
func TestVersionRanges(t *testing.T) {
	t.Parallel()
	ranges := []string{
		"^1.2.3", "~1.2.3", ">=1.0.0", "<=1.0.0", ">1.0.0", "<2.0.0", "=1.0.0", ">= 1.2.3", "~v1.2", "1.x", "1.X", "1.*",
		"1.2.x", "1.2.*", "v1.x", "x.1", "1 - 2", "1.0 - 2.0", "1.2 || 1.3", "1.0||2.0", " ^1.2.3 ", "*", "x", "X", "v*",
		">=1.0.0 <2.0.0", ">=1.0,<2.0", "~=1.4", "==1.0.0", "===1.0", "!=1.0", "~> 1.2", "[1.0,2.0)", "[1.0]", "(,1.0]", "[1.0,)",
		"^1 || ^2", "^1.2.3+b", "^1.x", "1.x.x.x", "1.2.3 - latest", "1.0 <2.0", "1.0,2.0", ">=latest", "1.x-beta", "1.0.*-*", "1.0.0-*",
		"^", "~", "=", ">=", " >= ", "||",
	}
	versions := []string{
		"", "1.0.0", "1.0.0-alpha.1", "1.0.0-x.7", "1.2.3-next.1", "1.0.0-linux-x64", "1.0.0+build.x", "2021.03.15", "v1.0", "V2", "v",
		"snapshot", "snapshot - 2025.09", "2024-01-15", "1.2.3.4", "1!2.0", "0.2.0a1", "sha256:1f83c5655d462b26", "1-2", "main",
		"x64", "x-ray", "release candidate", "a,b", "(beta)", "[draft]", "1.0.0-RX1", "1.0.x1", "a - b", "a ^ b",
	}
	for _, profile := range []manifest.Profile{manifest.Neutral, manifest.Schema20251211} {
		for _, v := range slices.Concat(ranges, versions) {
			r := manifest.Validate(document(t, map[string]any{"version": v}), &manifest.Options{Profile: profile})
			isRange := slices.Contains(rulesOf(r.Problems), "version-range")
			if want := slices.Contains(ranges, v); isRange != want || len(r.Problems) > 1 {
				t.Errorf("%v: is %q a range? %v, want %v: %v", profile, v, isRange, want, r.Problems)
			}
			if want := profile != manifest.Neutral || !isRange; r.Valid() != want {
				t.Errorf("%v: with %q the document is valid: %v, want %v", profile, v, r.Valid(), want)
			}
		}
	}
}

// TestVersionPin checks the version that is suggested, and whether it is a fix: only one that
// the range allows is.
func TestVersionPin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, suggested, fix string }{
		{"~=1.4.2", `"1.4.2"`, "1.4.2"},
		{"^1.0", `"1.0"`, "1.0"},
		{" >= v1.0-rc.1 ", `"v1.0-rc.1"`, "v1.0-rc.1"},
		{"[1.0]", `"1.0"`, "1.0"},
		{"[1.0, 2.0)", `"1.0"`, ""},
		{"<2.0", `"2.0"`, ""},
		{"!=2.0", `"2.0"`, ""},
		{">=1.0 <2.0", `"1.0"`, ""},
		{"^1.x", "1.0.0", ""},
		{"1.x", "1.0.0", ""},
		{"^", "1.0.0", ""},
	} {
		r := manifest.Validate(inPackage(t, map[string]any{"version": c.version}), nil)
		if len(r.Problems) != 1 || !strings.HasSuffix(r.Problems[0].Suggestion, " "+c.suggested) {
			t.Errorf("%q: got %v, want the suggestion %s", c.version, r.Problems, c.suggested)
			continue
		}
		got := ""
		if fix := r.Problems[0].Fix; fix != nil {
			got = strings.Trim(fix.Text, `"`)
		}
		if got != c.fix {
			t.Errorf("%q: the fix is %q, want %q", c.version, got, c.fix)
		}
	}
}
