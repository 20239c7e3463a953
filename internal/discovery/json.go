package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fieldNames are the names of fields in the tables of ntc-templates and of NAPALM, in the order in which
// they count.
var fieldNames = [...][]string{
	local:       {"local_interface", "local_port", "port_txt"},
	name:        {"neighbor_name", "neighbor", "system_name", "remote_system_name", "hostname", "dest_host", "destination_host", "system_name_data"},
	chassis:     {"chassis_id", "remote_chassis_id", "chassis_data"},
	port:        {"neighbor_port_id", "port_id", "remote_port", "neighbor_interface", "remote_interface", "port_id_data", "port"},
	description: {"neighbor_port_description", "remote_port_description", "neighbor_interface", "port_description", "port_desc_data"},
	address:     {"mgmt_address", "mgmt_ip", "management_ip", "management_address", "interface_ip", "remote_management_address", "address_1_addr"},
}

// ParseJSON reads a parsed table: an array of objects as ntc-templates has them, or as NAPALM returns it an
// object with an array of neighbours for each interface, which may be the only member of another object.
// The error says what is wrong, as for [ParseText].
func ParseJSON(doc []byte) ([]Neighbor, error) {
	rows, err := readRows(doc, "array", "neighbors", "local_interface")
	if err != nil {
		return nil, err
	}
	if len(rows) > MaxNeighbors {
		return nil, fmt.Errorf("has %d neighbours: send the table of one device, with at most %d", len(rows), MaxNeighbors)
	}
	found := []Neighbor{}
	for i, row := range rows {
		of := map[string]any{}
		for name, value := range row {
			of[strings.ToLower(name)] = value
		}
		var n Neighbor
		for f := local; f <= address; f++ {
			*n.at(f) = present(first(of, fieldNames[f]))
		}
		_, isMAC := MAC(n.ChassisID)
		if n.Name == "" && n.ChassisID != "" && of["neighbor_port_id"] == nil && !isMAC { // the device ID of CDP
			n.Name = n.ChassisID
		}
		if n.Interface == "" {
			return nil, fmt.Errorf("[%d]: has no local_interface", i)
		}
		found = append(found, n)
	}
	return found, nil
}

// readRows returns the rows of a parsed table: an array of objects as ntc-templates has them, or an object of
// NAPALM with an array or object for each interface, whose name is a field of its rows. That object may be the
// only member of another one, whose name contains wrapper.
func readRows(doc []byte, of, wrapper, field string) ([]map[string]any, error) {
	if len(doc) > MaxBytes {
		return nil, errTooLarge
	}
	var rows []map[string]any
	if json.Unmarshal(doc, &rows) == nil {
		return rows, nil
	}
	var by map[string]json.RawMessage
	if err := json.Unmarshal(doc, &by); err != nil {
		return nil, fmt.Errorf("must be an array of objects, as of ntc-templates, or an object with an %s for each interface, as of NAPALM: %w", of, err)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		inner := by[name]
		if len(by) == 1 && strings.Contains(name, wrapper) {
			return readRows(inner, of, wrapper, field)
		}
		if of == "object" {
			inner = slices.Concat([]byte("["), inner, []byte("]"))
		}
		var more []map[string]any
		err := json.Unmarshal(inner, &more)
		if err != nil || slices.ContainsFunc(more, func(row map[string]any) bool { return row == nil }) {
			return nil, fmt.Errorf("%q: must be an %s, and what it has of a port an object, not null", name, of)
		}
		for _, row := range more {
			row[field] = name
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// HasNeighbors reports whether a parsed table is one of neighbours, for [ParseJSON], and not one of
// interfaces, for [ParseInterfaces]. known is false if the table does not say.
func HasNeighbors(doc []byte) (neighbors, known bool) {
	var by map[string]json.RawMessage
	if json.Unmarshal(doc, &by) == nil {
		for name, inner := range by {
			neighbors = neighbors || inner[0] == '[' || len(by) == 1 && strings.Contains(name, "neighbors")
		}
		return neighbors, len(by) > 0
	}
	var rows []map[string]json.RawMessage
	if json.Unmarshal(doc, &rows) != nil {
		return false, false
	}
	for _, row := range rows {
		for name := range row {
			neighbors = neighbors || slices.Contains(fieldNames[local], strings.ToLower(name))
		}
	}
	return neighbors, len(rows) > 0
}

// first returns the first value that is present. Some templates have lists: of several values the first one counts,
// and the lines of one value are joined.
func first(row map[string]any, names []string) string {
	for _, key := range names {
		value := row[key]
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
			if strings.HasPrefix(key, "neighbor_") {
				value = fmt.Sprint(list...) // the lines of one value
			}
		}
		if s, ok := value.(string); ok && present(s) != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}
