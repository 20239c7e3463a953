package collect

import (
	"regexp"
	"strconv"
)

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
