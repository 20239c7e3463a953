// Package vlans is the feature of how forms change the VLANs of interfaces.
package vlans

import (
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

const tagged = "tagged_vlans" // the name of the list of a form

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"interfaces": &inventory.Interface{}, "vlans": &inventory.VLAN{}, "tagged-vlans": &inventory.TaggedVLAN{}},
		Pages: site.Pages{Edits: map[string]site.Edit{"interfaces": {
			Set:      &site.Set{Name: tagged, Label: "Tagged VLANs", Through: "tagged-vlans", Of: "interface_id", To: "vlan_id", Hint: "Only an interface with the mode trunk has some: another mode removes them."},
			Begin:    map[string]string{"status": string(inventory.LinkUnknown)},
			Complete: complete,
			Near: func(q *site.Request, rec site.Record) (string, error) {
				device, err := q.ByIDs("devices", []string{rec.Text("device_id")}, "id", "location_id")
				if err != nil || len(device) == 0 {
					return "", err
				}
				return device[0].Text("location_id"), nil
			},
		}}},
	}
}

// complete sets the mode of an interface without one, as its VLANs need it, and removes the tagged VLANs of one that is no trunk
// any more (REFERENCE.md, 1.8).
func complete(rec site.Record, change map[string]any) (why string) {
	mode := rec.Text("mode")
	if given, ok := change["mode"]; ok {
		mode = site.Text(given)
	}
	list, sent := change[tagged].([]string)
	if had, _ := rec[tagged].([]any); !sent && len(had) > 0 && !strings.EqualFold(mode, "trunk") {
		change[tagged] = []string{}
	}
	switch {
	case mode == "" && len(list) > 0:
		change["mode"] = "trunk"
	case mode == "" && change["untagged_vlan_id"] != nil:
		change["mode"] = "access"
	case len(list) > 0 && !strings.EqualFold(mode, "trunk"):
		return "Tagged VLANs need the mode trunk, and the mode is " + mode
	}
	return ""
}
