package inventory

import (
	"errors"
	"slices"
	"strings"
)

// Enum is a text that can have certain values only. Its empty value is none.
type Enum interface {
	~string
	// Values are all there are, in lower case.
	Values() []string
}

// ParseEnum reads a value of an enumeration, in upper or lower case. The error says what
// would be right.
func ParseEnum[E Enum](s string) (E, error) {
	var e E
	value, err := oneOf(e.Values(), s)
	return E(value), err
}

func oneOf(values []string, s string) (string, error) {
	value := strings.ToLower(s)
	if !slices.Contains(values, value) {
		return "", errors.New("must be one of " + strings.Join(values, ", "))
	}
	return value, nil
}

func texts[E ~string](values ...E) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// DeviceStatus is where a device stands in its life.
type DeviceStatus string

// The states of a device.
const (
	DeviceActive         DeviceStatus = "active"
	DeviceOffline        DeviceStatus = "offline"
	DeviceMaintenance    DeviceStatus = "maintenance"
	DeviceProvisioning   DeviceStatus = "provisioning"
	DeviceDecommissioned DeviceStatus = "decommissioned"
)

// Values are all there are.
func (DeviceStatus) Values() []string {
	return texts(DeviceActive, DeviceOffline, DeviceMaintenance, DeviceProvisioning, DeviceDecommissioned)
}

// OperStatus is what an interface does (RFC 2863, ifOperStatus).
type OperStatus string

// The operational states of an interface.
const (
	OperUp      OperStatus = "up"
	OperDown    OperStatus = "down"
	OperTesting OperStatus = "testing"
	OperUnknown OperStatus = "unknown"
	OperDormant OperStatus = "dormant"
)

// Values are all there are.
func (OperStatus) Values() []string {
	return texts(OperUp, OperDown, OperTesting, OperUnknown, OperDormant)
}

// LinkStatus is the state of an interface or a link, as far as it is known: an
// [OperStatus], or that somebody has switched it off.
type LinkStatus string

// The states of interfaces and links.
const (
	LinkUp        LinkStatus = "up"
	LinkDown      LinkStatus = "down"
	LinkTesting   LinkStatus = "testing"
	LinkUnknown   LinkStatus = "unknown"
	LinkDormant   LinkStatus = "dormant"
	LinkAdminDown LinkStatus = "administratively down"
)

// Values are all there are.
func (LinkStatus) Values() []string {
	return texts(LinkUp, LinkDown, LinkTesting, LinkUnknown, LinkDormant, LinkAdminDown)
}

// VLANStatus is where a VLAN stands in its life.
type VLANStatus string

// The states of a VLAN.
const (
	VLANActive     VLANStatus = "active"
	VLANInactive   VLANStatus = "inactive"
	VLANReserved   VLANStatus = "reserved"
	VLANDeprecated VLANStatus = "deprecated"
)

// Values are all there are.
func (VLANStatus) Values() []string {
	return texts(VLANActive, VLANInactive, VLANReserved, VLANDeprecated)
}

// Severity is how bad an event is.
type Severity string

// The severities of events.
const (
	SeverityCritical Severity = "critical"
	SeverityHigh     Severity = "high"
	SeverityMedium   Severity = "medium"
	SeverityLow      Severity = "low"
	SeverityWarning  Severity = "warning"
	SeverityInfo     Severity = "info"
)

// Values are all there are.
func (Severity) Values() []string {
	return texts(SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow, SeverityWarning, SeverityInfo)
}

// Role is what a user may do (specification, Authentication 6).
type Role string

// The roles.
const (
	Admin  Role = "admin"  // everything
	Editor Role = "editor" // change links, read
	Viewer Role = "viewer" // read
)

// Values are all there are.
func (Role) Values() []string { return texts(Admin, Editor, Viewer) }
