package cabling

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages returns the page of a trace, and what the pages of devices and ports show of cables and links.
func pages() site.Pages {
	p := site.Pages{
		Files: files, Style: "style-cabling.css",
		Routes: []site.Route{
			{Pattern: "GET /trace/{resource}/{id}", Handle: showTrace},
			{Pattern: "GET /connect", Handle: showConnect},
			{Pattern: "POST /connect", Handle: showConnect},
		},
		Leads: []site.Lead{{From: "devices", To: "interfaces", Label: "Port of", Load: farPorts}},
		Sections: []site.Section{{
			On: "devices", ID: "device-neighbours", Title: "Neighbours", Template: "cabling-neighbours", Column: site.Side, Order: 10,
			Follow: []string{"links", "cables"}, Needs: []string{"interfaces", "links"}, Load: loadNeighbours,
		}, {
			On: "devices", ID: "device-addresses", Title: "Addresses and VLANs", Template: "cabling-addresses", Tab: "Addresses and VLANs", Order: 20,
			Follow: []string{"interfaces", "addresses", "vlans", "tagged-vlans"}, Needs: []string{"interfaces"}, Load: loadAddresses,
		}, {
			On: "devices", ID: "device-cables", Title: "Cables and links", Template: "cabling-cables", Tab: "Cables", Order: 25,
			Follow: []string{"cables", "links"}, Needs: []string{"interfaces", "cables"}, Load: loadCables,
		}},
	}
	titles := map[string]string{"interfaces": "Interfaces", "front-ports": "Front ports", "rear-ports": "Rear ports", "terminations": "Terminations"}
	for i, name := range portResources {
		at := "." + portFields[name] + "_id"
		hides := []string{"cables.a_" + at[1:], "cables.b_" + at[1:]}
		if name == "interfaces" {
			hides = append(hides, "links.a_interface_id", "links.b_interface_id")
		}
		p.Sections = append(p.Sections, site.Section{
			On: "devices", ID: "device-" + name, Title: titles[name], Template: "cabling-ports", Tab: "Ports", Order: 10 + i, Hides: []string{name + ".device_id"},
			Follow: []string{name, "cables", "links", "vlans", "tagged-vlans", "addresses"}, Needs: []string{name},
			Load: func(p *site.Part) error { return loadPorts(p, name) },
		}, site.Section{
			On: name, ID: "port-connection", Title: "Connection", Template: "cabling-connection", Column: site.Side, Order: 10, Hides: hides,
			Follow: []string{"cables", "links"}, Load: loadConnection,
		})
	}
	return p
}
