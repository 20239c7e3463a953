package inventory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// full returns a device with every field set.
func full() *inventory.Device {
	d := device("core-1")
	d.Base = records.Base{ID: id(1), CreatedAt: at(1), UpdatedAt: at(2), Version: 3}
	d.LocationID, d.LastSeen, d.Tags, d.SerialNumber = ptr(id(9)), ptr(at(3)), []string{"a", "b"}, "S1"
	return d
}

// TestPatch checks that a partial update changes what it names and nothing else.
func TestPatch(t *testing.T) {
	t.Parallel()
	for doc, change := range map[string]func(*inventory.Device){
		`{}`: func(*inventory.Device) {},
		`{"status":"maintenance","os_version":"23.4"}`: func(d *inventory.Device) { d.Status, d.OSVersion = "maintenance", "23.4" },
		`{"location_id":null,"last_seen":null}`:        func(d *inventory.Device) { d.LocationID, d.LastSeen = nil, nil },
		`{"location_id":"` + id(8) + `"}`:              func(d *inventory.Device) { d.LocationID = ptr(id(8)) },
		`{"serial_number":""}`:                         func(d *inventory.Device) { d.SerialNumber = "" },
		`{"tags":["c"]}`:                               func(d *inventory.Device) { d.Tags = []string{"c"} },
		`{"tags":null}`:                                func(d *inventory.Device) { d.Tags = nil },
		`{"last_seen":"2026-01-31T13:05:00+01:00"}`:    func(d *inventory.Device) { d.LastSeen = ptr(at(5)) },
		`{"id":"` + id(1) + `","version":3,"created_at":"2026-01-31T12:01:00Z","role":"core"}`: func(d *inventory.Device) { d.Role = "core" },
	} {
		got, want := full(), full()
		change(want)
		ok(t, resourceOf(got).Patch(patch(t, doc))(got))
		if got.LastSeen != nil {
			*got.LastSeen = got.LastSeen.UTC()
		}
		got.CreatedAt = got.CreatedAt.UTC()
		equal(t, doc, got, want)
	}
}

// TestPatchRefuses checks that the error of an invalid update names every invalid field, and
// that nothing changes.
func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"hostnam":"a","role":"core"}`: "hostnam",
		`{"hostname":null}`:             "hostname",
		`{"hostname":7,"ip":["a"],"tags":"a","last_seen":"yesterday","role":"core"}`: "hostname ip last_seen tags",
		`{"location_id":7}`:                     "location_id",
		`{"version":4}`:                         "version",
		`{"id":"` + id(2) + `"}`:                "id",
		`{"created_at":"2026-01-31T12:02:00Z"}`: "created_at",
		`{"password_hash":"x","Hostname":"a"}`:  "Hostname password_hash",
		`{"":1}`:                                "",
	} {
		got := full()
		err := resourceOf(got).Patch(patch(t, doc))(got)
		equal(t, doc, strings.Join(fields(t, err, records.Invalid), " "), want)
		equal(t, "the device after "+doc, got, full())
	}
}

// TestPatchOfUsers checks that updates can't set hidden fields.
func TestPatchOfUsers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"-", "PasswordHash", "password_hash", "epoch", "Epoch", "reset_hash", "Base"} {
		u := &inventory.User{PasswordHash: "x"}
		isKind(t, resourceOf(u).Patch(records.Patch{name: json.RawMessage(`"y"`)})(u), records.Invalid)
		equal(t, "the user", u, &inventory.User{PasswordHash: "x"})
	}
}

// TestPatchIsBounded checks that errors have a bounded size.
func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	p := records.Patch{}
	for n := range 10_000 {
		p[fmt.Sprint("field", n)] = json.RawMessage("1")
	}
	err := resourceOf(full()).Patch(p)(full())
	if n := len(fields(t, err, records.Invalid)); n != 20 || len(err.Error()) > 2000 {
		t.Errorf("%d problems in %d bytes", n, len(err.Error()))
	}
}

// TestSpeedsFollow checks that an update of speed or speed_mbps sets the other one too.
func TestSpeedsFollow(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]any{
		`{"speed":"10Gbps"}`:                     []any{"10Gbps", int64(10000)},
		`{"speed_mbps":10000}`:                   []any{"10Gbps", int64(10000)},
		`{"speed_mbps":10000,"speed":"10 gbps"}`: []any{"10Gbps", int64(10000)},
		`{"name":"b"}`:                           []any{"1Gbps", int64(1000)},
	} {
		i := port(id(1), "a")
		i.Speed = "1Gbps"
		ok(t, resourceOf(i).Check(i))
		ok(t, resourceOf(i).Patch(patch(t, doc))(i))
		ok(t, resourceOf(i).Check(i))
		equal(t, doc, []any{i.Speed, *i.SpeedMbps}, want)
	}
	i := port(id(1), "a")
	i.Speed = "1Gbps"
	ok(t, resourceOf(i).Check(i))
	ok(t, resourceOf(i).Patch(patch(t, `{"speed":""}`))(i))
	ok(t, resourceOf(i).Check(i))
	if i.Speed != "" || i.SpeedMbps != nil {
		t.Errorf("no speed is %q, %v", i.Speed, i.SpeedMbps)
	}
}

// TestPatchNamesTypes checks that the error for a wrong type names the right one.
func TestPatchNamesTypes(t *testing.T) {
	t.Parallel()
	for doc, c := range map[string]struct {
		rec  records.Record
		want string
	}{
		`{"mtu":1.5}`:           {&inventory.Interface{}, "wrong_type whole"},
		`{"lat":"north"}`:       {&inventory.Location{}, "wrong_type number"},
		`{"inactive_status":1}`: {&inventory.User{}, "wrong_type true"},
		`{"vlan_id":null}`:      {&inventory.VLAN{}, "wrong_type null whole"},
		`{"tags":{}}`:           {&inventory.Device{}, "wrong_type array strings"},
		`{"changes":[]}`:        {&records.AuditLog{}, "wrong_type object"},
		`{"ts":1}`:              {&inventory.Metric{}, "wrong_type timestamp"},
		`{"severity":["a"]}`:    {&inventory.Event{}, "wrong_type string"},
		`{"acknowledged_at":"2026-01-31T12:00:00Z"}`: {&inventory.Event{}, "read_only"},
	} {
		e, _ := errors.AsType[*records.Error](resourceOf(c.rec).Patch(patch(t, doc))(c.rec))
		if e == nil || len(e.Fields) != 1 || !errtest.Names(e.Fields[0].Code+" "+e.Fields[0].Reason, c.want) {
			t.Errorf("%s: %v, want %s", doc, e, c.want)
		}
	}
}

func TestOwnerMay(t *testing.T) {
	t.Parallel()
	before := &inventory.User{Username: "jane", Role: inventory.Viewer}
	after := records.Clone(before)
	after.Email, after.FirstName = "jane@example.org", "Jane"
	ok(t, resourceOf(before).CheckOwnerChange(before, after))
	after.Role, after.InactiveStatus = inventory.Admin, true
	err := resourceOf(before).CheckOwnerChange(before, after)
	equal(t, "what the owner may not do", fields(t, err, records.Forbidden), []string{"inactive_status", "role"})
	equal(t, "the message", err.Error(), "Forbidden: You do not have permission to perform this action")
}

func TestDiff(t *testing.T) {
	t.Parallel()
	after := full()
	after.Version, after.Status, after.LocationID, after.Tags = 4, "offline", nil, []string{"a b"}
	equal(t, "the difference", resourceOf(full()).Diff(full(), after), records.Changes{
		"status":      {Before: "active", After: "offline"},
		"location_id": {Before: id(9), After: nil},
		"tags":        {Before: []string{"a", "b"}, After: []string{"a b"}},
	})
	u := &inventory.User{Username: "jane", Password: "secret-1", PasswordHash: "secret-2"}
	text, err := json.Marshal([]any{resourceOf(u).Diff(nil, u), resourceOf(u).Diff(u, nil)})
	ok(t, err)
	if strings.Contains(string(text), "secret") || !strings.Contains(string(text), "jane") {
		t.Errorf("the difference is %s", text)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	d := full()
	c := records.Clone(d)
	*c.LocationID, *c.LastSeen, c.Tags[0], c.ID = "x", at(9), "x", "x"
	equal(t, "the device", d, full())
	a := &records.AuditLog{UserID: ptr("a"), Changes: records.Changes{"a": {}}}
	b := records.Clone(a)
	*b.UserID, b.Changes["b"] = "b", records.Change{}
	equal(t, "the entry", a, &records.AuditLog{UserID: ptr("a"), Changes: records.Changes{"a": {}}})
}

// FuzzPatch checks that no update panics, that a refused one changes nothing, and that a
// second check does not change an accepted record.
func FuzzPatch(f *testing.F) {
	f.Add("interfaces", `{"speed":"10Gbps","mtu":null}`)
	f.Add("devices", `{"tags":["a"],"last_seen":"2026-01-31T13:05:00+01:00","ip":"::1"}`)
	f.Add("links", `{"a_interface_id":"018F4C2E-7B1A-7C3D-9E4F-00000000000B"}`)
	f.Add("locations", `{"lat":1e400,"lon":-0.0}`)
	f.Fuzz(func(t *testing.T, name, doc string) {
		r, known := schema.Named(name)
		var p records.Patch
		if !known || json.Unmarshal([]byte(doc), &p) != nil {
			t.Skip()
		}
		rec := r.New()
		if err := resourceOf(rec).Patch(p)(rec); err != nil {
			isKind(t, err, records.Invalid)
			equal(t, "what was refused", rec, r.New())
			return
		}
		if resourceOf(rec).Check(rec) != nil {
			return
		}
		checked := records.Clone(rec)
		ok(t, resourceOf(checked).Check(checked))
		equal(t, "checked twice", checked, rec)
		if _, err := json.Marshal(rec); err != nil {
			t.Error(err)
		}
	})
}

// TestWholeNumbers: programs write whole numbers with a fraction or an exponent.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	i := port(id(1), "a")
	ok(t, resourceOf(i).Patch(records.Patch{"speed_mbps": []byte("1e3"), "mtu": []byte(" 1500.0 "), "ifindex": []byte("9007199254740993")})(i))
	equal(t, "the numbers", []int64{*i.SpeedMbps, *i.MTU, *i.IfIndex}, []int64{1000, 1500, 9007199254740993})
	for _, doc := range []string{"1.5", "1e-1", "1e300", `"1e3"`, "9007199254740993.0"} {
		equal(t, doc, fields(t, resourceOf(i).Patch(records.Patch{"mtu": []byte(doc)})(i), records.Invalid), []string{"mtu"})
	}
}
