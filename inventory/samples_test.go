package inventory_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// samples returns a path in the directory that ASHLAR_SAMPLES names, which has exports and
// outputs of real devices. It skips the test without one.
func samples(t *testing.T, path ...string) string {
	t.Helper()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// export is an export of NetBox: the fields of its records, by model and number.
type export map[string]map[int]map[string]any

func readExport(t *testing.T, path string) export {
	t.Helper()
	f, err := os.Open(path)
	ok(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	ok(t, err)
	var all []struct {
		Model  string
		PK     any // some have a string
		Fields map[string]any
	}
	ok(t, json.NewDecoder(r).Decode(&all))
	e := export{}
	for _, rec := range all {
		if e[rec.Model] == nil {
			e[rec.Model] = map[int]map[string]any{}
		}
		if pk, isNumber := rec.PK.(float64); isNumber {
			e[rec.Model][int(pk)] = rec.Fields
		}
	}
	return e
}

// referenced returns the record that a field refers to, and its number.
func (e export) referenced(model string, pk any) (map[string]any, int) {
	n, _ := pk.(float64)
	return e[model][int(n)], int(n)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// createSamples creates records one by one and returns the ids and what was refused.
func createSamples(t *testing.T, v *records.Engine, recs map[int]records.Record) (ids map[int]*string, refused []string) {
	t.Helper()
	ids = map[int]*string{}
	for _, n := range slices.Sorted(maps.Keys(recs)) {
		if err := v.Create(t.Context(), records.Caller{}, recs[n]); err != nil {
			refused = append(refused, fmt.Sprint(n, ": ", err))
			continue
		}
		ids[n] = &recs[n].Meta().ID
	}
	return ids, refused
}

func none(t *testing.T, what string, refused []string) {
	t.Helper()
	if len(refused) > 0 {
		t.Errorf("%d %s are refused:\n%s", len(refused), what, strings.Join(refused, "\n"))
	}
}

// TestNetBox creates the sites, devices, interfaces and VLANs of an export, field by field. Its
// devices have no address, and a device without a name has the name that NetBox shows.
func TestNetBox(t *testing.T) {
	t.Parallel()
	e := readExport(t, samples(t, "netbox", "demo-v3.6.json.gz"))
	v := records.New(records.NewMemStore(inventory.Schema()), nil)

	sites, devices, interfaces, vlans := map[int]records.Record{}, map[int]records.Record{}, map[int]records.Record{}, map[int]records.Record{}
	for n, f := range e["dcim.site"] {
		sites[n] = &inventory.Location{Name: text(f["name"]), Address: text(f["physical_address"]), Timezone: text(f["time_zone"]), SiteCode: text(f["slug"])}
	}
	siteIDs, refused := createSamples(t, v, sites)
	none(t, "sites", refused)

	for n, f := range e["dcim.device"] {
		kind, _ := e.referenced("dcim.devicetype", f["device_type"])
		vendor, _ := e.referenced("dcim.manufacturer", kind["manufacturer"])
		platform, _ := e.referenced("dcim.platform", f["platform"])
		role, _ := e.referenced("dcim.devicerole", f["role"])
		_, site := e.referenced("dcim.site", f["site"])
		name := cmp.Or(text(f["name"]), fmt.Sprintf("%s %s (%d)", text(vendor["name"]), text(kind["model"]), n))
		devices[n] = &inventory.Device{
			Hostname: name, Model: text(kind["model"]), Vendor: text(vendor["name"]), OS: text(platform["name"]), Role: text(role["name"]),
			Status: inventory.DeviceStatus(text(f["status"])), SerialNumber: text(f["serial"]), RackPosition: text(f["position"]),
			Notes: text(f["comments"]), LocationID: siteIDs[site],
		}
	}
	deviceIDs, refused := createSamples(t, v, devices)
	none(t, "devices", refused)

	for n, f := range e["dcim.interface"] {
		_, device := e.referenced("dcim.device", f["device"])
		interfaces[n] = &inventory.Interface{
			DeviceID: *deviceIDs[device], Name: text(f["name"]), Description: text(f["description"]), Type: text(f["type"]),
			Mode: text(f["mode"]), MACAddress: text(f["mac_address"]),
		}
	}
	_, refused = createSamples(t, v, interfaces)
	none(t, "interfaces", refused)

	for n, f := range e["ipam.vlan"] {
		_, site := e.referenced("dcim.site", f["site"])
		number, _ := f["vid"].(float64)
		vlans[n] = &inventory.VLAN{VLANID: int64(number), Name: text(f["name"]), Status: inventory.VLANStatus(text(f["status"])), LocationID: siteIDs[site]}
	}
	_, refused = createSamples(t, v, vlans)
	none(t, "VLANs", refused)
	t.Logf("%d sites, %d devices, %d interfaces, %d VLANs", len(sites), len(devices), len(interfaces), len(vlans))
}

// TestShowInterfaces checks the interfaces in outputs of switches and routers. The reason in
// parentheses after a status is dropped, and so are the words for a missing speed.
func TestShowInterfaces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(samples(t, "interfaces", "*.yml"))
	ok(t, err)
	if len(files) == 0 {
		t.Fatal("no samples of interfaces")
	}
	number := 0
	var refused []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		ok(t, err)
		var doc struct {
			ParsedSample []map[string]any `yaml:"parsed_sample"`
		}
		ok(t, yaml.Unmarshal(data, &doc))
		for _, row := range doc.ParsedSample {
			number++
			rec := shownInterface(row)
			speed, mac := rec.Speed, rec.MACAddress
			if err := resourceOf(rec).CheckNew(rec); err != nil {
				refused = append(refused, fmt.Sprintf("%s: speed %q, MAC %q: %v", rec.Name, speed, mac, err))
			}
		}
	}
	t.Logf("%d of %d interfaces pass", number-len(refused), number)
	for _, why := range refused {
		t.Log(why)
		if !strings.Contains(why, "00de.333.111") { // not an address: digits were removed
			t.Errorf("refused: %s", why)
		}
	}
}

func shownInterface(row map[string]any) *inventory.Interface {
	get := func(names ...string) string {
		for _, name := range names {
			v := row[name]
			if list, isList := v.([]any); isList && len(list) > 0 {
				v = list[0]
			}
			if s := text(v); s != "" {
				return s
			}
		}
		return ""
	}
	status := func(names ...string) string {
		s, _, _ := strings.Cut(get(names...), "(")
		s, _, _ = strings.Cut(s, ",")
		return strings.TrimSpace(s)
	}
	i := &inventory.Interface{
		DeviceID: id(1), Name: get("interface"), Description: get("description", "interface_description"), Type: get("hardware_type", "port_type"),
		Status: inventory.LinkStatus(status("link_status", "line_status")), OperStatus: inventory.OperStatus(status("protocol_status")),
		Mode: get("mode", "port_link_type"), MACAddress: get("mac_address", "hw_address", "bia"), IPAddress: get("ip_address"),
		Speed: get("speed", "bandwidth"),
	}
	if admin := status("admin_state"); admin == "up" || admin == "down" {
		i.AdminStatus = inventory.LinkStatus(admin)
	}
	if strings.HasPrefix(i.Speed, "Unknown") || strings.HasPrefix(i.Speed, "0 ") {
		i.Speed = ""
	}
	if length := get("prefix_length"); length != "" && i.IPAddress != "" && !strings.Contains(i.IPAddress, "/") {
		i.IPAddress += "/" + length
	}
	if mtu, err := strconv.ParseInt(get("mtu"), 10, 64); err == nil {
		i.MTU = &mtu
	}
	return i
}
