package hosts

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// playbookHosts serves devices as a dynamic inventory of Ansible.
func playbookHosts() feature.Operation {
	return feature.Operation{
		Operation: openapi.Operation{
			Path: "/sd/ansible", ID: "listAnsibleHosts", Summary: "List devices as a dynamic inventory of Ansible",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("AnsibleInventory",
					openapi.Required("_meta", openapi.Object("", openapi.Required("hostvars", openapi.Object(""))))),
			}},
		},
		Handle: serve("application/json", func(r *feature.Request) (document, bool, error) {
			e := encode.New(records.Of[inventory.Device](r.Inventory.Records().Schema()))
			return &ansibleHosts{fields: e, taken: map[string]bool{}, groups: map[string][]uint32{}}, true, nil
		}),
	}
}

// ansibleHosts is the document that the option --list of an inventory script writes.
type ansibleHosts struct {
	fields *encode.Encoder
	value  []byte
	names  []string            // of hosts
	taken  map[string]bool     // the same
	groups map[string][]uint32 // their hosts, as indexes of names
	bytes  int64               // of all of these, about
}

func (a *ansibleHosts) begin(b []byte) []byte { return append(b, `{"_meta":{"hostvars":{`...) }

func (a *ansibleHosts) kept() int64 { return a.bytes }

func (a *ansibleHosts) device(b []byte, d *inventory.Device, at *inventory.Location) []byte {
	name := a.name(d)
	if len(a.names) > 0 {
		b = append(b, ',')
	}
	a.names, a.taken[name] = append(a.names, name), true
	a.bytes += 96 + int64(len(name))
	b = append(encode.String(append(b, '\n'), name), ":{"...)
	if d.IP != "" {
		b = append(encode.String(append(b, `"ansible_host":`...), d.IP), ',')
	}
	for i := range a.fields.Members {
		m := &a.fields.Members[i]
		if slices.Contains([]string{"created_at", "updated_at", "version"}, m.Field.Name) {
			continue
		}
		a.value = m.Append(a.value[:0], d)
		b = append(append(append(b, `"ashlar_`...), m.Field.Name...), `":`...)
		if templated(a.value) {
			a.value = encode.JSON(a.value[:0], untrusted(m.Field.Value(d)))
		}
		b = append(append(b, a.value...), ',')
	}
	if at != nil {
		b = a.variable(b, "location_name", at.Name)
		b = a.variable(b, "location_site_code", at.SiteCode)
	}
	b[len(b)-1] = '}' // instead of the last comma
	a.join(d, at)
	return b
}

// variable appends a variable of the location, unless devices have a custom field of that name.
func (a *ansibleHosts) variable(b []byte, name, value string) []byte {
	if slices.ContainsFunc(a.fields.Members, func(m encode.Member) bool { return m.Field.Name == name }) {
		return b
	}
	b = append(append(append(b, `"ashlar_`...), name...), `":`...)
	return append(encode.JSON(b, untrusted(value)), ',')
}

// join adds the last host to its groups.
func (a *ansibleHosts) join(d *inventory.Device, at *inventory.Location) {
	var groups []string
	add := func(kind, value string) {
		if group := kind + "_" + safe(value, ""); value != "" && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	switch {
	case at != nil && at.SiteCode != "":
		add("location", at.SiteCode)
	case at != nil:
		add("location", at.Name)
	case d.LocationID != nil:
		add("location", *d.LocationID)
	}
	add("role", d.Role)
	add("vendor", d.Vendor)
	for _, tag := range d.Tags {
		add("tag", tag)
	}
	if len(groups) == 0 {
		groups = []string{"ungrouped"}
	}
	for _, group := range groups {
		if a.groups[group] == nil {
			a.bytes += 128 + int64(len(group))
		}
		a.groups[group] = append(a.groups[group], uint32(len(a.names)-1)) // fewer than memory has room for
		a.bytes += 8
	}
}

// name returns the name of a host. The first device with a hostname has it alone.
func (a *ansibleHosts) name(d *inventory.Device) string {
	name := safe(d.Hostname, ".-")
	if a.taken[name] {
		name += "_" + d.ID
	}
	return name
}

func (a *ansibleHosts) end(b []byte) []byte {
	b = append(b, "}}"...)
	for _, group := range slices.Sorted(maps.Keys(a.groups)) {
		b = append(encode.String(append(b, ",\n"...), group), `:{"hosts":[`...)
		for i, host := range a.groups[group] {
			if i > 0 {
				b = append(b, ',')
			}
			b = encode.String(b, a.names[host])
		}
		b = append(b, "]}"...)
	}
	return append(b, "\n}\n"...)
}

// safe returns a text with underscores in place of all but letters, digits and some others.
func safe(s, others string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (isWord(byte(c)) || strings.ContainsRune(others, c)) {
			return c
		}
		return '_'
	}, s)
}

// templated reports whether Ansible would take a part of a value in JSON for a template, which it executes
// on the machine that it runs on.
func templated(value []byte) bool {
	return bytes.Contains(value, []byte("{{")) || bytes.Contains(value, []byte("{%")) || bytes.Contains(value, []byte("{#"))
}

// untrusted returns a text, or a list of texts, with what Ansible does not take for a template in place of those that
// are templated.
func untrusted(value any) any {
	switch v := value.(type) {
	case string:
		if templated([]byte(v)) {
			return map[string]string{"__ansible_unsafe": v}
		}
	case []string:
		all := make([]any, len(v))
		for i, text := range v {
			all[i] = untrusted(text)
		}
		return all
	}
	return value
}
