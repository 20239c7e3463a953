package discovery_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/discovery"
)

// TestSamples: the text of real devices has the same neighbours as its parsed form.
func TestSamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "lldp", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := parsed(t, file)
			raw, err := os.ReadFile(strings.TrimSuffix(file, ".yml") + ".raw")
			if err != nil {
				t.Fatal(err)
			}
			got, err := discovery.ParseText(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d neighbours, want %d: %+v", len(got), len(want), got)
			}
			for i := range got {
				for _, pair := range [][2]string{
					{discovery.InterfaceKey(got[i].Interface), discovery.InterfaceKey(want[i].Interface)},
					{got[i].Name, want[i].Name},
					{got[i].Address, want[i].Address},
				} {
					if pair[0] != pair[1] && !discovery.SameHost(pair[0], pair[1]) {
						t.Errorf("neighbour %d: %q, want %q", i, pair[0], pair[1])
					}
				}
				ports := []string{got[i].Port, got[i].PortDescription, got[i].ChassisID}
				if want[i].Port != "" && !slices.Contains(ports, want[i].Port) && !strings.HasPrefix(name, "brocade") {
					t.Errorf("neighbour %d: %+v lacks the port %q", i, got[i], want[i].Port)
				}
			}
			t.Logf("%d neighbours", len(got))
		})
	}
}

// parsed returns the parsed form of a sample, by way of JSON.
func parsed(t *testing.T, file string) []discovery.Neighbor {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		ParsedSample []any `yaml:"parsed_sample"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(doc.ParsedSample)
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.ParseJSON(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(doc.ParsedSample) {
		t.Errorf("%d neighbours of %d rows", len(found), len(doc.ParsedSample))
	}
	return found
}
