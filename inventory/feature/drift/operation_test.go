package drift_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/feature/drift"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// harness is an API with the feature.
type harness struct {
	*featuretest.API
	t *testing.T
}

func start(t *testing.T) *harness {
	t.Helper()
	return &harness{featuretest.New(t, nil, drift.New()), t}
}

// onStores runs a test on a store in memory and on a database.
func onStores(t *testing.T, test func(t *testing.T, g *harness)) {
	t.Helper()
	featuretest.OnStores(t, func(t *testing.T, api *featuretest.API) { test(t, &harness{api, t}) }, drift.New)
}

// driftReport is the part of a response that tests check.
type driftReport struct {
	Status, Message                         string
	Missing, Unexpected, Different, Applied int
	Differences                             []struct {
		ID, Type, Resource, Hostname, Interface, Reason string
		Fields                                          []string
		Expected, Observed                              object
		Change                                          *struct {
			Action, Resource string
			RecordID         string `json:"record_id"`
			Values           object
		}
	}
	Problems []struct {
		Table  int
		Reason string
	}
	Changes []object
}

// ids returns the ids of differences of a type.
func (r *driftReport) ids(kind string) (ids []string) {
	for _, d := range r.Differences {
		if d.Type == kind {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// lines returns the differences in short.
func (r *driftReport) lines() (lines []string) {
	for _, d := range r.Differences {
		line := strings.Join([]string{d.Hostname, d.Interface, d.Type, strings.Join(d.Fields, ",")}, " ")
		if d.Change == nil {
			line += ": " + d.Reason
		} else {
			line += ": " + d.Change.Action
		}
		lines = append(lines, line)
	}
	return lines
}

func (g *harness) drift(user, query string, body object) (report *driftReport) {
	g.t.Helper()
	text := g.As(user).Send("POST", "/drift"+query, body).Want(http.StatusOK).Body.Bytes()
	require.NoError(g.t, json.Unmarshal(text, &report))
	return report
}

// network adds the switches sw1 to sw3 with the interfaces GigabitEthernet1/0/1 to 1/0/4, and links of sw1 to the
// others. It returns the ids of the interfaces by name.
func (g *harness) network() map[string]string {
	ids := map[string]string{}
	for _, name := range []string{"sw1", "sw2.example.net", "sw3"} {
		d := g.Create("/devices", featuretest.Device(name))
		for _, n := range []string{"1", "2", "3", "4"} {
			i := featuretest.With(featuretest.Port(d["id"], "GigabitEthernet1/0/"+n), "mac_address", "02:00:00:00:0"+name[2:3]+":0"+n)
			ids[name[:3]+":"+n] = g.Create("/interfaces", i)["id"].(string)
		}
	}
	for _, ends := range [][2]string{{"sw1:1", "sw2:1"}, {"sw1:2", "sw2:2"}, {"sw1:3", "sw3:3"}} {
		g.Create("/links", object{"a_interface_id": ids[ends[0]], "b_interface_id": ids[ends[1]]})
	}
	return ids
}

// lldp lists the neighbours that sw1 hears: the link of 1 as expected, that of 2 at another port, none on 3, and sw3 and a phone on 4.
const lldp = `Local Intf: Gi1/0/1
Chassis id: 0200.0000.0201
Port id: Gi1/0/1
System Name: sw2

Local Intf: Gi1/0/2
Chassis id: 0200.0000.0201
Port id: Gi1/0/4
System Name: SW2.example.net

Local Intf: Gi1/0/4
Chassis id: 0200.0000.0301
Port id: 0200.0000.0304

Local Intf: Gi1/0/4
Chassis id: 0200.0000.9901
Port id: Port 1
System Name: phone
`

// TestDrift: a report has each type of difference, and what is applied is in no later one.
func TestDrift(t *testing.T) { onStores(t, drifts) }

func drifts(t *testing.T, g *harness) {
	t.Helper()
	ids := g.network()
	tables := []object{{"device": "sw1", "text": lldp}, {"device": "sw9", "kind": "neighbors", "rows": []object{}}}
	report := g.drift("viewer", "", object{"tables": tables})
	require.Equal(t, []string{
		"sw1 GigabitEthernet1/0/2 different port: update",
		"sw1 GigabitEthernet1/0/3 missing : delete",
		"sw1 GigabitEthernet1/0/4 unexpected : create",
		"sw1 GigabitEthernet1/0/4 unexpected : the neighbor is no device of the inventory",
	}, report.lines())
	require.Equal(t, 1, report.Problems[0].Table)
	require.Contains(t, report.Problems[0].Reason, `"sw9"`)
	require.Equal(t, object{"hostname": "sw3", "location": nil}, report.Differences[2].Change.Values["b_interface"].(object)["device"])

	body := object{"tables": tables, "apply": []string{"all"}}
	g.As("viewer").Send("POST", "/drift", body).Want(http.StatusForbidden)
	before := len(g.List("/audit-logs?limit=100&action__in=create,update,delete"))
	dry := g.drift("editor", "?dry_run=true", body)
	require.Equal(t, "dry_run", dry.Status)
	require.True(t, errtest.Names(dry.Message, "create update delete link"), dry.Message)
	require.Len(t, dry.Changes, 3)
	require.Len(t, g.List("/audit-logs?limit=100&action__in=create,update,delete"), before)
	require.Equal(t, report.ids("missing"), g.drift("editor", "", object{"tables": tables}).ids("missing"))

	applied := g.drift("editor", "", object{"tables": tables, "apply": append(report.ids("different"), report.Differences[2].ID)})
	require.Equal(t, 2, applied.Applied)
	require.Len(t, g.List("/audit-logs?limit=100&action__in=create,update,delete"), before+2)
	require.Equal(t, "editor", g.List("/audit-logs?action__in=create,update,delete")[0]["actor"])
	links := g.List("/links")
	require.Len(t, links, 4)
	require.Equal(t, []string{ids["sw1:2"], ids["sw2:4"]}, []string{links[1]["a_interface_id"].(string), links[1]["b_interface_id"].(string)})
	require.Equal(t, []string{ids["sw1:4"], ids["sw3:4"], "lldp"}, []string{links[3]["a_interface_id"].(string), links[3]["b_interface_id"].(string), links[3]["discovery"].(string)})

	again := g.drift("editor", "", object{"tables": tables})
	require.Equal(t, []int{1, 1, 0}, []int{again.Missing, again.Unexpected, again.Different})
	for _, gone := range [][]string{report.ids("different"), append(again.ids("missing"), "x")} {
		e := g.As("editor").Send("POST", "/drift", object{"tables": tables, "apply": gone}).Want(http.StatusConflict)
		require.Contains(t, e.Body.String(), "compare again")
	}
	g.As("editor").Send("POST", "/drift", object{"tables": tables, "apply": again.ids("unexpected")}).Want(http.StatusBadRequest)
	require.Len(t, g.List("/audit-logs?limit=100&action__in=create,update,delete"), before+2)
	require.Equal(t, 1, g.drift("editor", "", object{"tables": tables, "apply": []string{"missing"}}).Applied)
	require.Len(t, g.List("/links"), 3)
}

// TestDriftOfInterfaces: interfaces are created, changed and deleted by their tables, in long and short names.
func TestDriftOfInterfaces(t *testing.T) { onStores(t, driftOfInterfaces) }

func driftOfInterfaces(t *testing.T, g *harness) {
	t.Helper()
	d := g.Create("/devices", featuretest.Device("sw1"))
	g.Create("/interfaces", featuretest.With(featuretest.Port(d["id"], "GigabitEthernet1/0/1"), "description", "to core", "ip_address", "192.0.2.1/24", "mtu", 1500, "oper_status", "up"))
	g.Create("/interfaces", featuretest.Port(d["id"], "GigabitEthernet1/0/2"))
	table := object{"device_id": d["id"], "rows": []object{
		{"interface": "Gi1/0/1", "description": "to core-1", "ip_address": "192.0.2.7/24", "mtu": "9000", "link_status": "down"},
		{"interface": "Gi1/0/3", "mac_address": "0200.0000.0003", "mtu": 1500, "link_status": "administratively down"},
	}}
	report := g.drift("viewer", "", object{"tables": []object{table}})
	require.Equal(t, []string{
		"sw1 GigabitEthernet1/0/1 different description,ip_address,mtu,state: update",
		"sw1 GigabitEthernet1/0/2 missing : delete",
		"sw1 Gi1/0/3 unexpected : create",
	}, report.lines())
	require.Equal(t, object{"description": "to core-1", "ip_address": "192.0.2.7/24", "mtu": 9000.0, "oper_status": "down"}, report.Differences[0].Change.Values)
	body := object{"tables": []object{table}, "apply": []string{"all"}}
	g.As("editor").Send("POST", "/drift", body).Want(http.StatusForbidden) // of interfaces
	require.Equal(t, 3, g.drift("root", "", body).Applied)
	require.Empty(t, g.drift("viewer", "", object{"tables": []object{table}}).Differences)
	all := g.List("/interfaces")
	require.Equal(t, []any{"GigabitEthernet1/0/1", "Gi1/0/3"}, []any{all[0]["name"], all[1]["name"]})
	require.Equal(t, "192.0.2.7/24", all[0]["ip_address"])
	require.Equal(t, "02:00:00:00:00:03 down", all[1]["mac_address"].(string)+" "+all[1]["status"].(string))
}

// TestMovedCable: all devices report a cable that has moved, and its link becomes the new one.
func TestMovedCable(t *testing.T) { onStores(t, movedCable) }

func movedCable(t *testing.T, g *harness) {
	t.Helper()
	ids := g.network()
	heard := func(pairs ...string) (rows []object) {
		for i := 0; i < len(pairs); i += 3 {
			rows = append(rows, object{"local_interface": "Gi1/0/" + pairs[i], "neighbor_name": pairs[i+1], "neighbor_port_id": "Gi1/0/" + pairs[i+2]})
		}
		return rows
	}
	tables := []object{
		{"device": object{"hostname": "sw1"}, "rows": heard("1", "sw2", "1", "2", "sw3", "2", "3", "sw3", "3")},
		{"device": "sw2.example.net", "rows": heard("1", "sw1", "1")},
		{"device": "sw3", "rows": heard("2", "sw1", "2", "3", "sw1", "3")},
	}
	before := g.List("/links")
	report := g.drift("editor", "", object{"tables": tables, "apply": []string{"all"}})
	require.Equal(t, 3, report.Applied)
	links := g.List("/links")
	require.Len(t, links, 3)
	require.Equal(t, []any{before[1]["id"], ids["sw1:2"], ids["sw3:2"]}, []any{links[1]["id"], links[1]["a_interface_id"], links[1]["b_interface_id"]})
	require.Empty(t, g.drift("viewer", "", object{"tables": tables}).Differences)
}

// TestDriftRequests: the error of a wrong request names the field.
func TestDriftRequests(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.Create("/devices", featuretest.Device("sw1"))
	rows := []object{{"local_interface": "Gi1", "neighbor": "sw2"}, {"neighbor": "sw3"}}
	for _, tc := range []struct {
		table object
		want  string
	}{
		{object{"device": "sw1", "rows": rows}, "tables[0].rows[1] has no local_interface"},
		{object{"device": "sw1", "rows": []object{{"mtu": 7}}}, "tables[0].rows[0] has no interface"},
		{object{"device": "sw1", "rows": 7, "kind": "neighbors"}, "tables[0].rows array"},
		{object{"device": "sw1", "rows": []object{}}, "tables[0].kind is missing"},
		{object{"device": "sw1", "rows": []object{}, "kind": "ports"}, "tables[0].kind neighbors"},
		{object{"device": "sw1", "text": "Gi1 sw2"}, "tables[0].text has no neighbours"},
		{object{"device": "sw1", "text": "x", "kind": "interfaces"}, "tables[0].text table"},
		{object{"device": "sw1", "text": "x", "rows": rows}, "tables[0].rows text required"},
		{object{"device": "sw1"}, "tables[0].rows text required"},
		{object{"rows": rows[:1]}, "tables[0].device required"},
		{object{"device": 7, "rows": rows[:1]}, "tables[0].device hostname"},
		{object{"device_id": "7", "rows": rows[:1]}, "tables[0].device id"},
		{object{"device": "", "rows": rows[:1]}, "tables[0].device required"},
		{object{"device": "sw1", "rows": rows[:1], "kin": 1}, "kin"},
	} {
		g.As("viewer").Send("POST", "/drift", object{"tables": []object{tc.table}}).WantError(http.StatusBadRequest, tc.want)
	}
	g.As("viewer").Send("POST", "/drift", object{"tables": []object{}}).Want(http.StatusBadRequest)
	g.As("").Send("POST", "/drift", object{"tables": []object{}}).Want(http.StatusUnauthorized)
	unknownDevice := g.drift("viewer", "", object{"tables": []object{{"device_id": "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "rows": rows[:1]}}})
	require.Len(t, unknownDevice.Problems, 1)
}

// TestDriftScopes: scopes and locations hold for what a request reads and changes.
func TestDriftScopes(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.network()
	site := g.Create("/locations", object{"name": "Graz", "city": "Graz", "country": "AT", "address": "Allee 1"})
	limited := g.As("")
	grant := func(body object) {
		var token object
		g.As("root").Send("POST", "/users/"+g.Users["root"].ID+"/tokens", featuretest.With(body, "name", fmt.Sprint(body), "current_password", featuretest.Password)).Want(http.StatusCreated).JSON(&token)
		limited.Header.Set("Authorization", "Bearer "+token["token"].(string))
	}
	body := object{"tables": []object{{"device": "sw1", "text": lldp}}}
	grant(object{"scopes": []string{"devices:read", "interfaces:read", "links:read"}})
	limited.Send("POST", "/drift", body).Want(http.StatusOK)
	limited.Send("POST", "/drift", featuretest.With(body, "apply", []string{"all"})).Want(http.StatusForbidden)
	grant(object{"scopes": []string{"devices:read", "interfaces:read", "links:*"}})
	limited.Send("POST", "/drift?dry_run=true", featuretest.With(body, "apply", []string{"all"})).Want(http.StatusOK)
	grant(object{"scopes": []string{"devices:read", "links:*"}})
	limited.Send("POST", "/drift", body).Want(http.StatusForbidden)
	grant(object{"scopes": []string{"devices:*", "interfaces:*", "links:*"}, "location_ids": []any{site["id"]}})
	for _, sent := range []object{body, featuretest.With(body, "apply", []string{"all"})} {
		var hidden object
		limited.Send("POST", "/drift", sent).Want(http.StatusOK).JSON(&hidden)
		require.Len(t, hidden["problems"], 1) // the device is not at the location
	}
}

// TestDriftSamples: tables of real devices are compared, and a device has no drift from what was applied.
func TestDriftSamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	for _, kind := range []string{"lldp", "interfaces"} {
		files, err := filepath.Glob(filepath.Join(dir, kind, "*.yml"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				var doc struct {
					Rows []object `yaml:"parsed_sample"`
				}
				require.NoError(t, yaml.Unmarshal(text, &doc))
				sampleDrift(t, object{"device": "sw1", "rows": doc.Rows}, strings.TrimSuffix(file, ".yml")+".raw")
			})
		}
	}
}

// sampleDrift applies the differences of a table, of an inventory with the neighbours that it names.
func sampleDrift(t *testing.T, table object, raw string) {
	t.Helper()
	g := start(t)
	d := g.Create("/devices", featuretest.Device("sw1"))
	body := object{"tables": []object{table}}
	first := g.drift("viewer", "", body)
	require.NotEmpty(t, first.Differences)
	if first.Differences[0].Resource == "interfaces" {
		require.Equal(t, len(first.Differences), g.drift("root", "", featuretest.With(body, "apply", []string{"all"})).Applied)
		require.Empty(t, g.drift("viewer", "", body).Differences)
		return
	}
	peers, own := map[string]any{}, map[string]bool{}
	ports := map[string]bool{}
	for _, diff := range first.Differences {
		name, _ := diff.Observed["neighbor"].(string)
		remote, _ := diff.Observed["port"].(string)
		if name == "" || remote == "" || len(remote) > 100 {
			continue
		}
		if !own[diff.Interface] {
			own[diff.Interface] = true
			g.Create("/interfaces", featuretest.Port(d["id"], diff.Interface))
		}
		if peers[name] == nil {
			peers[name] = g.Create("/devices", featuretest.Device(name))["id"]
		}
		if !ports[name+" "+remote] {
			ports[name+" "+remote] = true
			g.Create("/interfaces", featuretest.Port(peers[name], remote))
		}
	}
	applied := g.drift("editor", "", featuretest.With(body, "apply", []string{"all"}))
	after := g.drift("viewer", "", body)
	require.Len(t, after.Differences, len(first.Differences)-applied.Applied, "%v", after.lines())
	if text, err := os.ReadFile(raw); err == nil && strings.Contains(raw, "detail__") {
		fromText := g.drift("viewer", "", object{"tables": []object{{"device": "sw1", "text": string(text)}}})
		t.Logf("%d differences, %d applied, left: %v, of the text: %v", len(first.Differences), applied.Applied, after.lines(), fromText.lines())
	}
}
