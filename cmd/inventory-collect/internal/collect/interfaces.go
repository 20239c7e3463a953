package collect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/internal/discovery"
)

// The objects of the system group (RFC 3418).
const (
	sysDescr    = "1.3.6.1.2.1.1.1.0"
	sysObjectID = "1.3.6.1.2.1.1.2.0"
	sysName     = "1.3.6.1.2.1.1.5.0"
	sysLocation = "1.3.6.1.2.1.1.6.0"
)

// readSystem reads the system group.
func readSystem(s *session, r *Result) {
	values := s.get(sysDescr, sysObjectID, sysName, sysLocation)
	r.Description, r.ObjectID = values[sysDescr].text(), values[sysObjectID].oid()
	r.Name, r.Location = values[sysName].text(), values[sysLocation].text()
}

// states are the values of ifAdminStatus and ifOperStatus (RFC 2863).
var states = []string{"", "up", "down", "testing", "unknown", "dormant", "notpresent", "lowerlayerdown"}

// state returns a state of the first ones, or "".
func (v value) state(count int) string {
	if n := v.number(); n > 0 && n <= int64(count) {
		return states[n]
	}
	return ""
}

// maxHighSpeed is the largest speed in Mbps that is taken for one: 1 Pbit/s.
const maxHighSpeed = 1_000_000_000

// minMTU is the smallest MTU of an interface of the inventory.
const minMTU = 64

// interfaceColumns are the columns of ifTable and ifXTable that are read (RFC 2863). ifSpeed is before
// ifHighSpeed, which replaces it.
var interfaceColumns = []cells[Interface]{
	{column{"ifDescr", "1.3.6.1.2.1.2.2.1.2"}, func(i *Interface, v value) { i.descr = v.text() }},
	{column{"ifType", "1.3.6.1.2.1.2.2.1.3"}, func(i *Interface, v value) { i.Type = v.number() }},
	{column{"ifMtu", "1.3.6.1.2.1.2.2.1.4"}, func(i *Interface, v value) {
		if n := v.number(); n >= minMTU {
			i.MTU = n
		}
	}},
	{column{"ifSpeed", "1.3.6.1.2.1.2.2.1.5"}, func(i *Interface, v value) { i.SpeedMbps = max(v.number(), 0) / 1_000_000 }},
	{column{"ifPhysAddress", "1.3.6.1.2.1.2.2.1.6"}, func(i *Interface, v value) { i.MAC = mac(v.raw()) }},
	{column{"ifAdminStatus", "1.3.6.1.2.1.2.2.1.7"}, func(i *Interface, v value) { i.AdminStatus = v.state(3) }},
	{column{"ifOperStatus", "1.3.6.1.2.1.2.2.1.8"}, func(i *Interface, v value) { i.OperStatus = v.state(7) }},
	{column{"ifName", "1.3.6.1.2.1.31.1.1.1.1"}, func(i *Interface, v value) { i.Name = v.text() }},
	{column{"ifHighSpeed", "1.3.6.1.2.1.31.1.1.1.15"}, func(i *Interface, v value) {
		if n := v.number(); n > 0 && n <= maxHighSpeed {
			i.SpeedMbps = n
		}
	}},
	{column{"ifAlias", "1.3.6.1.2.1.31.1.1.1.18"}, func(i *Interface, v value) { i.Description = v.text() }},
}

// readInterfaces reads ifTable and ifXTable. Rows without a name are left out and counted.
func readInterfaces(s *session, r *Result) {
	rows := readTable(s, interfaceColumns, onlyIndex)
	delete(rows, 0)
	if len(rows) == 0 {
		r.absent("IF-MIB")
		return
	}
	taken := map[string]bool{}
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		i := rows[index]
		i.IfIndex = index
		if i.Name = i.uniqueName(taken); i.Name == "" {
			r.Unnamed++
			continue
		}
		taken[discovery.InterfaceKey(i.Name)] = true
		r.Interfaces = append(r.Interfaces, *i)
	}
}

// uniqueName returns ifName or ifDescr, with the ifIndex if other interfaces of the device have both names.
func (i *Interface) uniqueName(taken map[string]bool) string {
	suffix := fmt.Sprintf(" (%d)", i.IfIndex)
	long := shorten(cmp.Or(i.Name, i.descr), maxShort-len(suffix)) + suffix
	for _, name := range []string{shorten(i.Name, maxShort), shorten(i.descr, maxShort), long} {
		if name != "" && name != suffix && !taken[discovery.InterfaceKey(name)] {
			return name
		}
	}
	return ""
}

// The columns of entPhysicalTable that are read (RFC 6933).
const (
	entPhysical          = "1.3.6.1.2.1.47.1.1.1.1."
	entPhysicalSoftware  = entPhysical + "10"
	entPhysicalSerialNum = entPhysical + "11"
	entPhysicalMfgName   = entPhysical + "12"
	entPhysicalModelName = entPhysical + "13"
)

// chassisClass is the value of entPhysicalClass of a chassis.
const chassisClass = 3

// placeholder is a serial number that is none: blank, of one repeated character, or a word for none.
var placeholder = regexp.MustCompile(`(?i)^(?:[^a-z0-9]*|0*|x*|n[/.]?a|no(?:ne|t .*|serial.*)|null|unknown|invalid|default string|system serial number|to be filled.*|0?123456789)$`)

// readHardware reads the first chassis of ENTITY-MIB. If it has no version of the software, the first one of
// its parts counts.
func readHardware(s *session, r *Result) {
	chassis, parts := uint32(0), 0
	s.walk(column{"entPhysicalClass", entPhysical + "5"}, func(index []uint32, v value) {
		parts++
		if chassis == 0 && len(index) == 1 && v.number() == chassisClass {
			chassis = index[0]
		}
	})
	if parts == 0 {
		r.absent("ENTITY-MIB")
		return
	}
	if chassis > 0 {
		row := "." + strconv.FormatUint(uint64(chassis), 10)
		values := s.get(entPhysicalSoftware+row, entPhysicalSerialNum+row, entPhysicalMfgName+row, entPhysicalModelName+row)
		r.SoftwareVersion = values[entPhysicalSoftware+row].text()
		if serial := values[entPhysicalSerialNum+row].text(); !placeholder.MatchString(serial) {
			r.SerialNumber = serial
		}
		r.Vendor, r.Model = values[entPhysicalMfgName+row].text(), values[entPhysicalModelName+row].text()
	}
	if r.SoftwareVersion != "" {
		return
	}
	s.walk(column{"entPhysicalSoftwareRev", entPhysicalSoftware}, func(_ []uint32, v value) {
		if r.SoftwareVersion == "" {
			r.SoftwareVersion = v.text()
		}
	})
}
