package manifest_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/manifest"
)

// published returns manifests as registries published them, one per line, from the corpus that
// the environment names.
func published(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASHLAR_MANIFEST_CORPUS"), "published", "*.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ASHLAR_MANIFEST_CORPUS") == "" || len(files) == 0 {
		t.Skip("NOT TESTED WITH PUBLISHED MANIFESTS: ASHLAR_MANIFEST_CORPUS names no directory with published/*.ndjson.gz")
	}
	var all [][]byte
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			all = append(all, slices.Clone(lines.Bytes()))
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Of the 3,622 published manifests 12 may be refused after the fixes.
const publishedAll, publishedRefused = 3622, 12

// TestPublishedAreFixed counts the manifests that a profile refuses before and after the fixes.
func TestPublishedAreFixed(t *testing.T) {
	t.Parallel()
	all := published(t)
	for p := manifest.Neutral; p <= manifest.Declared; p++ {
		opts := &manifest.Options{Profile: p}
		before, after := 0, 0
		left := make(map[string]int)
		for _, data := range all {
			r := manifest.Validate(data, opts)
			if !r.Valid() {
				before++
			}
			fixed, n := r.Problems.Fix(data)
			again, done, rest := manifest.Fix(data, opts)
			if string(fixed) != string(again) || n != len(done) {
				t.Fatalf("Problems.Fix applies %d and Fix %d fixes:\n%s\n%s", n, len(done), fixed, again)
			}
			if rest.Valid() {
				continue
			}
			after++
			reasons := make(map[string]bool)
			for _, q := range rest.Problems {
				if q.Severity == manifest.Error {
					reasons[string(q.Rule)] = true
				}
			}
			for rule := range reasons {
				left[rule]++
			}
		}
		t.Logf("%-10v refuses %d of %d manifests, and %d after the fixes: %v", p, before, len(all), after, left)
		if p == manifest.Neutral && after*publishedAll > publishedRefused*len(all) {
			t.Errorf("%d of %d are refused after the fixes, which is more than %d of %d", after, len(all), publishedRefused, publishedAll)
		}
	}
}

// TestPublishedAreMigrated checks that every migrated manifest has the current $schema and no
// keys of an older one.
func TestPublishedAreMigrated(t *testing.T) {
	t.Parallel()
	valid, all := 0, published(t)
	for _, data := range all {
		d, err := manifest.Parse(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Migrate("")
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		migrated, _, r := manifest.Fix(m.Apply(d.Text()), &manifest.Options{Profile: manifest.Declared})
		if r.Valid() {
			valid++
		}
		after, err := manifest.Parse(migrated, nil)
		if err != nil {
			t.Fatal(err)
		}
		if schema := after.Lookup("/$schema"); schema == nil || schema.Text != manifest.CurrentSchema {
			t.Errorf("%s has another $schema", migrated)
		}
		if len(r.Problems) > 0 && slices.Contains(rulesOf(r.Problems), "key-case") {
			t.Errorf("%s: %v", migrated, r.Problems)
		}
	}
	t.Logf("%d of %d manifests are valid under the current schema after migration and fixes", valid, len(all))
}

// TestPublishedAreRead checks that every manifest is read, and each part that is valid.
func TestPublishedAreRead(t *testing.T) {
	t.Parallel()
	broken, tokens, servers := 0, 0, make(map[string]bool)
	for _, data := range published(t) {
		d, err := manifest.Parse(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := d.Read(nil)
		before := broken
		for i := range r.Server.Packages {
			if _, err := r.Package(i); err != nil {
				broken++
			}
		}
		for i := range r.Server.Remotes {
			if _, err := r.Remote(i); err != nil {
				broken++
			}
		}
		if r.Server.Name == "" || r.Report.Valid() && broken > before {
			t.Fatalf("%s has no name, or is valid and has a part with errors", data)
		}
		for _, p := range r.Report.Problems {
			if p.Rule == "unknown-variable" && strings.Contains(p.Pointer, "/headers/") {
				tokens++
				servers[r.Server.Name] = true
			}
		}
	}
	t.Logf("%d packages and remotes have errors; %d headers of %d servers have undeclared tokens", broken, tokens, len(servers))
}

// TestPublishedAreValidatedFast checks that validating takes at most 0.8 times as long as
// encoding/json needs to decode the same manifests into structs. Both are measured in turns for
// each manifest, and the shortest of several runs counts, because other load of the machine
// affects that least.
func TestPublishedAreValidatedFast(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	all := published(t)
	const runs = 25
	profiles := []manifest.Profile{manifest.Neutral, manifest.Registry, manifest.Declared}
	took := make([]time.Duration, len(profiles))
	var decode time.Duration
	for _, data := range all {
		least := make([]time.Duration, len(profiles)+1)
		for range runs {
			for i := range least {
				start := time.Now()
				if i < len(profiles) {
					manifest.Validate(data, &manifest.Options{Profile: profiles[i]})
				} else {
					var s plainServer
					if err := json.Unmarshal(data, &s); err != nil {
						t.Fatal(err)
					}
				}
				if d := time.Since(start); least[i] == 0 || d < least[i] {
					least[i] = d
				}
			}
		}
		for i := range profiles {
			took[i] += least[i]
		}
		decode += least[len(profiles)]
	}
	for i, p := range profiles {
		ratio := took[i].Seconds() / decode.Seconds()
		t.Logf("%v: %d manifests are validated in %v, decoded in %v: ratio %.2f", p, len(all), took[i], decode, ratio)
		if ratio > 0.8 && !scaletest.Race() {
			t.Errorf("%v: validating takes %.2f times as long as decoding, more than 0.8", p, ratio)
		}
	}
}
