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
var fieldNames = struct{ local, name, chassis, port, description, address []string }{
	local:       []string{"local_interface", "local_port"},
	name:        []string{"neighbor_name", "neighbor", "system_name", "remote_system_name", "hostname", "dest_host", "destination_host"},
	chassis:     []string{"chassis_id", "remote_chassis_id"},
	port:        []string{"neighbor_port_id", "port_id", "remote_port", "neighbor_interface", "remote_interface", "port"},
	description: []string{"neighbor_port_description", "remote_port_description", "neighbor_interface", "port_description"},
	address:     []string{"mgmt_address", "mgmt_ip", "management_ip", "management_address", "interface_ip", "remote_management_address"},
}

// ParseJSON reads a parsed table: an array of objects as ntc-templates has them, or as NAPALM returns it an
// object with an array of neighbours for each interface, which may be the only member of another object.
// The error says what is wrong, as for [ParseText].
func ParseJSON(doc []byte) ([]Neighbor, error) {
	rows, err := readRows(doc, "array", "neighbors", "local_interface", func(name string, inner json.RawMessage) (rows []map[string]any, err error) {
		if err := json.Unmarshal(inner, &rows); err != nil {
			return nil, fmt.Errorf("%q must be an array of neighbours: %w", name, err)
		}
		if slices.ContainsFunc(rows, func(row map[string]any) bool { return row == nil }) {
			return nil, fmt.Errorf("%q: a neighbour must be an object, not null", name)
		}
		return rows, nil
	})
	if err != nil {
		return nil, err
	}
	return fromRows(rows)
}

// readRows returns the rows of a parsed table: an array of objects as ntc-templates has them, or an object of
// NAPALM with an array or object for each interface, whose name is a field of its rows. That object may be the
// only member of another one, whose name contains wrapper.
func readRows(doc []byte, of, wrapper, field string, rowsOf func(name string, inner json.RawMessage) ([]map[string]any, error)) ([]map[string]any, error) {
	if len(doc) > MaxBytes {
		return nil, errTooLarge
	}
	var rows []map[string]any
	if json.Unmarshal(doc, &rows) == nil {
		return rows, nil
	}
	var by map[string]json.RawMessage
	if err := json.Unmarshal(doc, &by); err != nil {
		return nil, noTable(of, err)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if len(by) == 1 && strings.Contains(name, wrapper) {
			return readRows(by[name], of, wrapper, field, rowsOf)
		}
		more, err := rowsOf(name, by[name])
		if err != nil {
			return nil, err
		}
		for _, row := range more {
			row[field] = name
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func noTable(of string, err error) error {
	return fmt.Errorf("must be an array of objects, as of ntc-templates, or an object with an %s for each interface, as of NAPALM: %w", of, err)
}

// HasNeighbors reports whether a parsed table is one of neighbours, for [ParseJSON], and not one of
// interfaces, for [ParseInterfaces]. known is false if the table does not say.
func HasNeighbors(doc []byte) (neighbors, known bool) {
	var rows []map[string]json.RawMessage
	if json.Unmarshal(doc, &rows) == nil {
		for _, row := range rows {
			for name := range row {
				if slices.Contains(fieldNames.local, strings.ToLower(name)) {
					return true, true
				}
			}
		}
		return false, len(rows) > 0
	}
	var by map[string]json.RawMessage
	if json.Unmarshal(doc, &by) != nil {
		return false, false
	}
	for name, inner := range by {
		if len(by) == 1 && strings.Contains(name, "neighbors") {
			return true, true
		}
		if inner[0] == '[' {
			return true, true
		}
	}
	return false, len(by) > 0
}

func fromRows(rows []map[string]any) ([]Neighbor, error) {
	if len(rows) > MaxNeighbors {
		return nil, fmt.Errorf("has %d neighbours: send the table of one device, with at most %d", len(rows), MaxNeighbors)
	}
	found := []Neighbor{}
	for i, row := range rows {
		of := map[string]any{}
		for name, value := range row {
			of[strings.ToLower(name)] = value
		}
		n := Neighbor{
			Interface: first(of, fieldNames.local), Name: first(of, fieldNames.name), ChassisID: first(of, fieldNames.chassis),
			Port: first(of, fieldNames.port), PortDescription: first(of, fieldNames.description), Address: first(of, fieldNames.address),
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

// first returns the first value that is present. Some templates have lists of one.
func first(row map[string]any, names []string) string {
	for _, name := range names {
		value := row[name]
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		if s, ok := value.(string); ok && present(s) != "" {
			return present(s)
		}
	}
	return ""
}
