package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// shownDifference is a difference for a page.
type shownDifference struct {
	Difference
	Checked bool                             `json:"-"`
	link    func(resource, id string) string // the page of a record
}

// What returns in words what is different.
func (d *shownDifference) What() string {
	if d.Resource == "interfaces" {
		switch d.Type {
		case discovery.Missing:
			return "The inventory has this interface, and the device does not report it."
		case discovery.Unexpected:
			return "The device reports this interface, and the inventory does not have it."
		}
		return "The interface is not as the device reports it."
	}
	switch d.Type {
	case discovery.Missing:
		return fmt.Sprintf("The inventory has a link to %s. The device hears nobody there.", end(d.Expected))
	case discovery.Unexpected:
		return fmt.Sprintf("The device hears %s. The inventory has no link there.", end(d.Observed))
	}
	return fmt.Sprintf("The inventory has a link to %s. The device hears %s.", end(d.Expected), end(d.Observed))
}

// Tone returns the colour of the type.
func (d *shownDifference) Tone() string {
	return map[discovery.Kind]string{discovery.Missing: "bad", discovery.Unexpected: "info", discovery.Different: "warn"}[d.Type]
}

// end returns a neighbour and its port in words.
func end(of site.Record) string {
	name := of.Text("neighbor")
	if name == "" {
		name = "a neighbour without a name"
	}
	for _, port := range []string{"port", "port_description"} {
		if text := of.Text(port); text != "" {
			return name + ", port " + text
		}
	}
	return name
}

// Effect returns in words what applying the difference does, empty if nothing can be applied.
func (d *shownDifference) Effect() string {
	if d.Change == nil {
		return ""
	}
	what := map[string]string{"links": "link", "interfaces": "interface"}[d.Resource]
	switch d.Change.Action {
	case Create:
		return "Creates the " + what + "."
	case Delete:
		if d.Resource == "links" {
			return "Deletes the link, and its cable."
		}
		return "Deletes the interface, with what belongs to it."
	}
	if d.Resource == "links" {
		return "Moves the end of the link to what the device hears."
	}
	return "Takes over what the device reports."
}

// Why returns why nothing can be applied, as a sentence.
func (d *shownDifference) Why() string {
	if d.Reason == "" {
		return ""
	}
	return "Cannot be applied: " + d.Reason + "."
}

// URL returns the page of the record that is different, empty without one.
func (d *shownDifference) URL() string {
	switch {
	case d.Change != nil && d.Change.RecordID != "":
		return d.link(d.Resource, d.Change.RecordID)
	case d.Expected["link_id"] != nil:
		return d.link("links", site.Text(d.Expected["link_id"]))
	}
	return ""
}

// Rows returns the values that differ: of the inventory, and of the device.
func (d *shownDifference) Rows() (rows []site.Diff) {
	names := d.Fields
	if d.Type != discovery.Different {
		for name := range d.Observed {
			if name != "name" && d.Resource == "interfaces" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		rows = append(rows, site.Diff{Field: strings.ReplaceAll(name, "_", " "), Before: site.Text(d.Expected[name]), After: site.Text(d.Observed[name])})
	}
	return rows
}
