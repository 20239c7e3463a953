package inventory

import "cmp"

// stringOf returns an optional string, empty for none.
func stringOf(s *string) string { return *cmp.Or(s, new("")) }

func valueStrings[E ~string](values ...E) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// DeviceStatus is the lifecycle status of a device.
type DeviceStatus string

// The statuses of a device.
const (
	DeviceActive         DeviceStatus = "active"
	DeviceOffline        DeviceStatus = "offline"
	DeviceMaintenance    DeviceStatus = "maintenance"
	DeviceProvisioning   DeviceStatus = "provisioning"
	DeviceDecommissioned DeviceStatus = "decommissioned"
)

// Values returns all values.
func (DeviceStatus) Values() []string {
	return valueStrings(DeviceActive, DeviceOffline, DeviceMaintenance, DeviceProvisioning, DeviceDecommissioned)
}

// OperStatus is the operational status of an interface (ifOperStatus of RFC 2863).
type OperStatus string

// The operational statuses of an interface.
const (
	OperUp      OperStatus = "up"
	OperDown    OperStatus = "down"
	OperTesting OperStatus = "testing"
	OperUnknown OperStatus = "unknown"
	OperDormant OperStatus = "dormant"

	OperNotPresent     OperStatus = "notpresent"     // a component is missing
	OperLowerLayerDown OperStatus = "lowerlayerdown" // an interface below it is down
)

// Values returns all values.
func (OperStatus) Values() []string {
	return valueStrings(OperUp, OperDown, OperTesting, OperUnknown, OperDormant, OperNotPresent, OperLowerLayerDown)
}

// LinkStatus is the status of an interface or a link: an [OperStatus], or switched off by an
// administrator.
type LinkStatus string

// The statuses of interfaces and links.
const (
	LinkUp        LinkStatus = "up"
	LinkDown      LinkStatus = "down"
	LinkTesting   LinkStatus = "testing"
	LinkUnknown   LinkStatus = "unknown"
	LinkDormant   LinkStatus = "dormant"
	LinkAdminDown LinkStatus = "administratively down"

	LinkNotPresent     LinkStatus = "notpresent"
	LinkLowerLayerDown LinkStatus = "lowerlayerdown"
)

// Values returns all values.
func (LinkStatus) Values() []string {
	return valueStrings(LinkUp, LinkDown, LinkTesting, LinkUnknown, LinkDormant, LinkAdminDown, LinkNotPresent, LinkLowerLayerDown)
}

// Stops reports whether the status says that nothing is passed on: all but none, up and unknown do (ifOperStatus of RFC
// 2863).
func (s LinkStatus) Stops() bool { return s != "" && s != LinkUp && s != LinkUnknown }

// VLANStatus is the lifecycle status of a VLAN.
type VLANStatus string

// The statuses of a VLAN.
const (
	VLANActive     VLANStatus = "active"
	VLANInactive   VLANStatus = "inactive"
	VLANReserved   VLANStatus = "reserved"
	VLANDeprecated VLANStatus = "deprecated"
)

// Values returns all values.
func (VLANStatus) Values() []string {
	return valueStrings(VLANActive, VLANInactive, VLANReserved, VLANDeprecated)
}

// Severity is the severity of an event.
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

// Values returns all values.
func (Severity) Values() []string {
	return valueStrings(SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow, SeverityWarning, SeverityInfo)
}

// Role determines what a user may do (REFERENCE.md, 3.2).
type Role string

// The roles.
const (
	Admin  Role = "admin"  // everything
	Editor Role = "editor" // change links, read
	Viewer Role = "viewer" // read
)

// Values returns all values.
func (Role) Values() []string { return valueStrings(Admin, Editor, Viewer) }
