package discovery_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// TestInterfaceSamples: the tables of real devices have a name and a state for each interface, and differ
// from themselves in nothing.
func TestInterfaceSamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "interfaces", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			ParsedSample []map[string]any `yaml:"parsed_sample"`
		}
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(doc.ParsedSample)
		if err != nil {
			t.Fatal(err)
		}
		ports, err := discovery.ParseInterfaces(encoded)
		if err != nil || len(ports) != len(doc.ParsedSample) {
			t.Errorf("%s: %d interfaces of %d: %v", filepath.Base(file), len(ports), len(doc.ParsedSample), err)
		}
		for i, p := range ports {
			if p.State == "" {
				t.Errorf("%s: %s has no state: %v", filepath.Base(file), p.Name, doc.ParsedSample[i])
			}
			if mtu, _ := doc.ParsedSample[i]["mtu"].(string); (mtu != "") != (p.MTU > 0) {
				t.Errorf("%s: %s has the MTU %d, want %s", filepath.Base(file), p.Name, p.MTU, mtu)
			}
		}
		if all := discovery.CompareInterfaces(ports, ports); len(all) > 0 {
			t.Errorf("%s: a table differs from itself: %+v", filepath.Base(file), all)
		}
	}
}

// TestCompareInterfaces: each kind of difference, and what is not one.
func TestCompareInterfaces(t *testing.T) {
	t.Parallel()
	found, err := discovery.ParseInterfaces([]byte(`[
		{"interface":"GigabitEthernet1/0/1","description":"to core","hw_address":["001a-2b3c-4d5e"],"mtu":"1500","line_status":"UP","ip_address":"192.0.2.1/24"},
		{"interface":"Gi1/0/2","description":"","mac_address":"","mtu":"","link_status":"down (Administratively down)"},
		{"interface":"Gi1/0/3","description":"b","mac_address":"0000.0000.0003","mtu":"9000","link_status":"administratively down","ip_address":"192.0.2.3"},
		{"interface":"Gi1/0/9","link_status":"up"}]`))
	if err != nil {
		t.Fatal(err)
	}
	expected := []discovery.Port{
		{Name: "Gi1/0/1", Description: "to core", MAC: "00:1a:2b:3c:4d:5e", MTU: 1500, State: "up", Address: netip.MustParseAddr("192.0.2.1")},
		{Name: "GigabitEthernet1/0/2", Description: "a", MAC: "00:00:00:00:00:02", MTU: 1500, State: "down"},
		{Name: "Gi1/0/3", Description: "a", MAC: "00:00:00:00:00:04", MTU: 1500, State: "up", Address: netip.MustParseAddr("192.0.2.4")},
		{Name: "Gi1/0/4"},
	}
	var got []string
	for _, d := range discovery.CompareInterfaces(found, expected) {
		got = append(got, string(d.Kind)+" "+d.Name+" "+strings.Join(d.Fields, ","))
	}
	want := []string{"different Gi1/0/3 description,mac_address,ip_address,mtu,state", "missing Gi1/0/4 ", "unexpected Gi1/0/9 "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the differences are %q, want %q", got, want)
	}
	napalm := `{"get_interfaces":{"Ethernet2":{"is_up":false,"is_enabled":true,"description":"x","mtu":1500,"speed":1000.0,"mac_address":"00:1A:2B:3C:4D:5E"},"Ethernet1":{"is_up":true}}}`
	ports, err := discovery.ParseInterfaces([]byte(napalm))
	wantPorts := []discovery.Port{{Name: "Ethernet1", State: "up"}, {Name: "Ethernet2", Description: "x", MAC: "00:1a:2b:3c:4d:5e", MTU: 1500, State: "down"}}
	if err != nil || !reflect.DeepEqual(ports, wantPorts) {
		t.Errorf("the interfaces of NAPALM are %+v, %v", ports, err)
	}
	for doc, want := range map[string]string{
		`7`:           "array ntc-templates",
		`{"a":null}`:  `"a" object null`,
		`[{"mtu":1}]`: "[0]: has no interface",
	} {
		if _, err := discovery.ParseInterfaces([]byte(doc)); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", doc, err, want)
		}
	}
}
