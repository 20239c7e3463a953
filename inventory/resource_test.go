package inventory_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestFields checks the fields of the resources (REFERENCE.md, 1.1).
func TestFields(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"devices":        "hostname ip model vendor os os_version status role serial_number rack_position location_id last_seen tags notes rack_id rack_unit rack_height rack_face device_type_id tenant",
		"interfaces":     "device_id name description type status admin_status oper_status speed speed_mbps mtu mac_address mode ifindex ip_address parent_id lag_id untagged_vlan_id",
		"locations":      "name city country address site_code timezone lat lon kind parent_id",
		"vlans":          "vlan_id name description status location_id subnet_cidr gateway_ip",
		"tagged-vlans":   "interface_id vlan_id",
		"racks":          "name location_id height status tenant serial_number asset_tag description",
		"device-types":   "manufacturer model part_number height description",
		"port-templates": "device_type_id kind name label type positions rear_port rear_port_position",
		"vrfs":           "name rd description",
		"prefixes":       "prefix vrf_id status role location_id vlan_id description",
		"addresses":      "address vrf_id interface_id status role dns_name description",
		"links":          "a_interface_id b_interface_id type status discovery last_seen",
		"rear-ports":     "device_id name label type positions description",
		"front-ports":    "device_id name label type rear_port_id rear_port_position description",
		"cables":         "a_interface_id a_front_port_id a_rear_port_id a_termination_id b_interface_id b_front_port_id b_rear_port_id b_termination_id a_type b_type type status label color length description",
		"terminations":   "device_id location_id kind name label type description",
		"map-positions":  "device_id view x y",
		"events":         "severity type message device_id interface_id location_id acknowledged_at acknowledged_by",
		"metrics":        "device_id cpu memory temp uptime_seconds ts",
		"audit-logs":     "user_id actor action resource_type resource_id ip_address request_id changes cause",
		"users":          "username email password role inactive_status first_name last_name password_changed_at last_login location_ids must_change_password totp external",
	} {
		r, ok := schema.Named(name)
		if !ok {
			t.Fatalf("there is no resource %s", name)
		}
		want := append([]string{"id", "created_at", "updated_at", "version"}, strings.Fields(fields)...)
		var got []string
		for _, f := range r.Fields() {
			if f.Name != "" {
				got = append(got, f.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("fields of %s:\n%v, want\n%v", name, got, want)
		}
	}
	if n := len(schema.Resources()); n != 22 {
		t.Errorf("there are %d resources", n)
	}
}

// TestDescriptionsHold checks every field description, so that a new field needs only a line
// in a struct.
func TestDescriptionsHold(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range schema.Resources() {
		if rec := r.New(); resourceOf(rec) != r {
			t.Errorf("a new record of %s is of another resource", r.Name)
		}
		for _, f := range r.Fields() {
			where := r.Name + "." + f.Name + "/" + f.Column
			if f.Ref != nil && f.Ref.To != r.Name && !seen[f.Ref.To] {
				t.Errorf("%s refers to %s, which does not come before it", where, f.Ref.To)
			}
			if f.Ref != nil && !f.Ref.Cascade && !f.Nullable {
				t.Errorf("%s becomes null, and can't be", where)
			}
			if f.Kind == records.Text && f.Enum == nil && f.Format == "line" && f.Max == nil && !f.Hidden {
				t.Errorf("%s has no bound", where)
			}
			if f.Hidden && (f.Column == "" || f.Scalar() || f.Sortable()) {
				t.Errorf("%s is hidden and has no column, or is part of queries", where)
			}
			roundTrip(t, r.New(), f)
		}
		for _, u := range r.Uniques() {
			for _, name := range u.Fields {
				if r.KeyField(name) == nil || u.Message == "" {
					t.Errorf("%s: unique key of %v: %q", r.Name, u.Fields, u.Message)
				}
			}
		}
		seen[r.Name] = true
	}
}

// roundTrip sets a field and reads it.
func roundTrip(t *testing.T, rec records.Record, f *records.Field) {
	t.Helper()
	value := map[records.Kind]any{
		records.Text: "x", records.Int: int64(7), records.Float: 0.5, records.Bool: true,
		records.Time: at(1), records.List: []string{"a"}, records.Object: records.Changes{"a": {}},
	}[f.Kind]
	f.Set(rec, value)
	if got := f.Value(rec); !reflect.DeepEqual(got, value) {
		t.Errorf("%s is %v after %v was set", f.Name, got, value)
	}
	f.Set(rec, nil)
	if got := f.Value(rec); f.Nullable && got != nil {
		t.Errorf("%s is %v after it was set to nil", f.Name, got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	r := records.Of[records.AuditLog](schema)
	if got := []string{r.Name, r.Label, r.Kind(), r.Table()}; !slices.Equal(got, []string{"audit-logs", "Audit log", "audit_log", "audit_logs"}) {
		t.Errorf("names: %v", got)
	}
	for want, err := range map[string]error{
		"Device not found": records.Absent(records.Of[inventory.Device](schema)),
		"VLAN not found":   records.Absent(records.Of[inventory.VLAN](schema)),
		"VLAN changed":     records.Outdated(records.Of[inventory.VLAN](schema)),
	} {
		if !errtest.Names(err.Error(), want) {
			t.Errorf("%q, want %q", err, want)
		}
	}
	if _, ok := schema.Named("chassis"); ok {
		t.Error("there are chassis")
	}
	if _, err := schema.Of(nil); err == nil {
		t.Error("nothing has a resource")
	}
}

func TestParseEnum(t *testing.T) {
	t.Parallel()
	if s, err := records.ParseEnum[inventory.LinkStatus]("Administratively Down"); err != nil || s != inventory.LinkAdminDown {
		t.Errorf("%q, %v", s, err)
	}
	_, err := records.ParseEnum[inventory.Role]("owner")
	if err == nil || !errtest.Names(err.Error(), "admin, editor, viewer") {
		t.Errorf("%v", err)
	}
}
