package inventory

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Schema returns the schema of the inventory: its types of records, and a table for
// secrets that clients do not see.
func Schema() *records.Schema {
	s, err := NewSchema()
	if err != nil {
		panic(err) // a mistake in this package
	}
	return s
}

// NewSchema returns [Schema] with the resources and fields that a program adds
// ([records.Define], [records.Extend]). The error names the part that is wrong.
func NewSchema(parts ...records.Part) (*records.Schema, error) {
	return records.NewSchema(slices.Concat(resources(), parts)...)
}

// GloballyUniqueHostnames returns the part of [NewSchema] that makes the hostnames of devices
// unique across all locations and tenants. Without it a hostname is unique among the devices of a tenant at a location.
func GloballyUniqueHostnames() records.Part { return records.UniqueKey("devices", "hostname") }

// CaseSensitiveHostnames returns the part of [NewSchema] that allows hostnames which differ in case only, such as sw1 and
// SW1, which are one name in DNS and for the comparison with the network. Without it they are duplicates.
func CaseSensitiveHostnames() records.Part { return records.CaseSensitive("devices", "hostname") }

// Roles returns the part of [NewSchema] that adds roles of the program to those that users may have.
// What they may do is their scopes, in accounts.Options, or with accounts of the program what the Access of resources and
// operations says. An API refuses an Access that names other roles (httpapi.New).
func Roles(names ...string) records.Part { return records.ExtendEnum("users", "role", names...) }

// migrations is the history of the tables. A change of a table adds a number here, so that programs of earlier
// versions refuse the database, and statements only if data move: the store makes the tables fit the resources.
func migrations() records.Part {
	return records.Migrations(
		records.Migration{Version: 1},
		records.Migration{Version: 2, Statements: map[string][]string{ // hostnames are unique within a location
			"": {"DROP INDEX IF EXISTS {prefix}devices_hostname_key"},
		}},
		records.Migration{Version: 3}, // the chain of the audit log
		records.Migration{Version: 4, Statements: map[string][]string{ // the index has another order
			"": {"DROP INDEX IF EXISTS {prefix}metrics_device_id_idx"},
		}},
		records.Migration{Version: 5}, // counts of pairs of values
		records.Migration{Version: 6}, // the audit log keeps the ids of deleted users
		records.Migration{Version: 7}, // roles of a program
		records.Migration{Version: 8, Statements: map[string][]string{ // codes are in resets; they last 15 minutes
			"": {
				"DROP INDEX IF EXISTS {prefix}users_reset_hash_idx", "DROP INDEX IF EXISTS {prefix}users_reset_hash_27007a66_idx",
				"ALTER TABLE {prefix}users DROP COLUMN reset_hash", "ALTER TABLE {prefix}users DROP COLUMN reset_expires_at",
			},
			"postgres": {"ALTER TABLE {prefix}users DROP COLUMN IF EXISTS reset_password"}, // of versions in between
		}},
		records.Migration{Version: 9, Statements: map[string][]string{ // the tenant and the case of hostnames, and VRFs by rd
			"": {
				"DROP INDEX IF EXISTS {prefix}devices_location_id_hostname_key", "DROP INDEX IF EXISTS {prefix}devices_hostname_without_location_id_key",
				"DROP INDEX IF EXISTS {prefix}vrfs_name_key",
			},
		}, Fill: []string{fillHostnameKeys}},
		records.Migration{Version: 10, Oldest: 9}, // attempts, which all processes count together
		records.Migration{Version: 11, Oldest: 9}, // saved views
		records.Migration{Version: 12, Oldest: 9}, // webhooks
		records.Migration{Version: 13, Oldest: 9}, // proposals
	)
}

// resources returns the resources of the inventory.
func resources() []records.Part {
	admins := records.Permission{Roles: []string{string(Admin)}}
	editors := records.Permission{Roles: []string{string(Admin), string(Editor)}}
	owners := records.Permission{Roles: []string{string(Admin)}, Owner: true}
	return []records.Part{
		migrations(),
		records.Reserve("below", "by", "column", "done", "format", "keys", "resource"), // of lists, exports, summaries and their pages
		records.Define[Location](records.Definition{
			Name: "locations", Label: "Location", Description: "Where devices are.", Keys: [][]string{{"site_code"}, {"name"}}, Apart: []string{"site_code", "parent_id"}, Anonymous: true,
			Show:     records.Show{Group: "Places", Order: 300, Icon: "place", Columns: []string{"name", "kind", "site_code", "city", "country", "parent_id"}},
			Within:   []string{"id"},
			Checks:   []string{"(lat IS NULL) = (lon IS NULL)"},
			Children: []records.Child{{Path: "devices", Count: "devicescount", From: "devices", Field: "location_id"}},
		}),
		records.Define[Rack](records.Definition{
			Name: "racks", Label: "Rack", Description: "Racks, whose units devices occupy.",
			Show:     records.Show{Group: "Places", Order: 310, Icon: "rack", Columns: []string{"name", "status", "location_id", "height", "tenant", "asset_tag"}},
			Messages: map[string]string{"name": "Rack name already exists at this location"},
			Within:   []string{"location_id"},
		}),
		records.Define[DeviceType](records.Definition{
			Name: "device-types", Label: "Device type", Description: "Models of devices.",
			Show:     records.Show{Group: "Devices", Order: 190, Icon: "file", Columns: []string{"model", "manufacturer", "part_number", "height", "description"}},
			Messages: map[string]string{"model": "Model of this manufacturer already exists"},
		}),
		records.Define[PortTemplate](records.Definition{
			Name: "port-templates", Label: "Port template", Description: "The ports that new devices of a type have.",
			Show:     records.Show{Group: "Devices", Order: 195, Icon: "port", Columns: []string{"name", "device_type_id", "kind", "label", "type", "positions", "rear_port"}},
			Messages: map[string]string{"template_key": "Port template already exists for this device type"},
			Keys:     [][]string{{"device_type_id", "kind", "name"}},
			// A device whose ports are imported gets no others.
			ImportAfter: []string{"interfaces", "rear-ports", "front-ports"},
		}),
		records.Define[User](records.Definition{
			Name: "users", Label: "User", Description: "Who may use the inventory.", Lockable: true, Keys: [][]string{{"username"}},
			Show:     records.Show{Group: "Administration", Order: 600, Icon: "users", Columns: []string{"username", "role", "email", "first_name", "last_name", "inactive_status", "last_login"}},
			Messages: map[string]string{"username_key": "Username already exists"},
			Access:   records.Access{Read: owners, Create: admins, Update: owners, Delete: admins},
		}),
		records.Define[Device](records.Definition{
			Name: "devices", Label: "Device", Description: "Switches, routers and other devices.",
			Keys: [][]string{{"location_id", "hostname"}}, Apart: []string{"tenant"},
			Messages: map[string]string{"hostname_key": "Hostname already exists"},
			Show:     records.Show{Group: "Devices", Order: 100, Icon: "device", Columns: []string{"hostname", "status", "ip", "role", "location_id", "model"}},
			Within:   []string{"location_id"},
			Children: []records.Child{{Path: "interfaces", Count: "interfacecount", From: "interfaces", Field: "device_id"}},
		}),
		records.Define[Interface](records.Definition{
			Name: "interfaces", Label: "Interface", Description: "The interfaces of devices.", Unindexed: []string{"created_at", "updated_at"},
			Show:     records.Show{Group: "Devices", Order: 110, Icon: "port", Columns: []string{"name", "status", "device_id", "description", "speed", "mac_address", "ip_address"}},
			Messages: map[string]string{"name": "Interface name already exists on this device"},
			Within:   []string{"device_id"},
		}),
		records.Define[VLAN](records.Definition{
			Name: "vlans", Label: "VLAN", Description: "Virtual networks.", Apart: []string{"name"}, Anonymous: true,
			Show:     records.Show{Group: "VLANs", Order: 250, Icon: "network", Columns: []string{"name", "status", "vlan_id", "description", "location_id", "subnet_cidr", "gateway_ip"}},
			Messages: map[string]string{"vlan_id": "VLAN number already exists at this location"},
			Within:   []string{"location_id"},
		}),
		records.Define[TaggedVLAN](records.Definition{
			Name: "tagged-vlans", Label: "Tagged VLAN", Description: "VLANs that trunks carry with tags.",
			Show:     records.Show{Group: "VLANs", Order: 260, Icon: "tag", Columns: []string{"interface_id", "vlan_id"}},
			Messages: map[string]string{"vlan_id": "The interface already has this tagged VLAN"},
			Within:   []string{"interface_id"},
		}),
		records.Define[VRF](records.Definition{
			Name: "vrfs", Label: "VRF", Description: "Routing tables, in which addresses are unique.",
			Keys: [][]string{{"name"}, {"rd"}}, Apart: []string{"rd"},
			Show: records.Show{Group: "Addresses", Order: 220, Icon: "network", Columns: []string{"name", "rd", "description"}},
		}),
		records.Define[Prefix](records.Definition{
			Name: "prefixes", Label: "Prefix", Description: "Networks of addresses.", Keys: [][]string{{"prefix", "vrf_id"}},
			Show:     records.Show{Group: "Addresses", Order: 200, Icon: "prefix", Columns: []string{"prefix", "status", "vrf_id", "role", "location_id", "vlan_id", "description"}},
			Messages: map[string]string{"prefix": "Prefix already exists in this VRF"},
			Within:   []string{"location_id"},
		}),
		records.Define[Address](records.Definition{
			Name: "addresses", Label: "Address", Description: "IP addresses, of interfaces or of none.", Keys: [][]string{{"address", "vrf_id"}}, Apart: []string{"interface_id"}, Anonymous: true,
			Show:     records.Show{Group: "Addresses", Order: 210, Icon: "tag", Columns: []string{"address", "status", "vrf_id", "interface_id", "role", "dns_name", "description"}},
			Messages: map[string]string{"host": "Address already exists in this VRF"},
			Within:   []string{"interface_id"},
		}),
		records.Define[Link](records.Definition{
			Name: "links", Label: "Link", Description: "Connections between interfaces.",
			Show:     records.Show{Group: "Devices", Order: 120, Icon: "link", Columns: []string{"status", "a_interface_id", "b_interface_id", "type", "discovery", "last_seen"}},
			Messages: map[string]string{"b_interface_id": "Link between these interfaces already exists"},
			Reasons:  map[string]string{errSameInterface.Reason: "Cannot link an interface to itself"},
			Access:   records.Access{Create: editors, Update: editors, Delete: editors},
			Within:   []string{"a_interface_id", "b_interface_id"},
			Checks:   []string{"a_interface_id < b_interface_id"},
		}),
		records.Define[RearPort](records.Definition{
			Name: "rear-ports", Label: "Rear port", Description: "The rear of pass-through ports, such as of patch panels.",
			Show:     records.Show{Group: "Devices", Order: 150, Icon: "port", Columns: []string{"name", "device_id", "label", "type", "positions", "description"}},
			Messages: map[string]string{"name": "Rear port name already exists on this device"},
			Within:   []string{"device_id"},
		}),
		records.Define[FrontPort](records.Definition{
			Name: "front-ports", Label: "Front port", Description: "The front of pass-through ports, such as of patch panels.",
			Show: records.Show{Group: "Devices", Order: 140, Icon: "port", Columns: []string{"name", "device_id", "label", "type", "rear_port_id", "rear_port_position", "description"}},
			Messages: map[string]string{
				"name": "Front port name already exists on this device", "rear_port_position": "Another front port already has this position of the rear port",
			},
			Within: []string{"device_id"},
		}),
		records.Define[Termination](records.Definition{
			Name: "terminations", Label: "Termination", Description: "Console ports, power ports and ends of circuits, to which cables lead.",
			Show:     records.Show{Group: "Devices", Order: 160, Icon: "port", Columns: []string{"name", "device_id", "location_id", "kind", "label", "type", "description"}},
			Messages: map[string]string{"termination_key": "Termination of this kind and name already exists"},
			Keys:     [][]string{{"device_id", "kind", "name"}},
			Within:   []string{"device_id", "location_id"},
		}),
		records.Define[Cable](records.Definition{
			Name: "cables", Label: "Cable", Description: "Cables between ports.", Keys: cableKeys(),
			Show:   records.Show{Group: "Devices", Order: 130, Icon: "link", Columns: []string{"label", "status", "a_interface_id", "b_interface_id", "type", "color", "length"}},
			Access: records.Access{Create: editors, Update: editors, Delete: editors},
			Within: []string{
				"a_interface_id", "a_front_port_id", "a_rear_port_id", "a_termination_id", "b_interface_id", "b_front_port_id", "b_rear_port_id", "b_termination_id",
			},
		}),
		records.Define[MapPosition](records.Definition{
			Name: "map-positions", Label: "Map position", Description: "Where devices are on maps of the network.", Unaudited: true,
			Show:     records.Show{Hidden: true, Columns: []string{"view", "device_id", "x", "y"}},
			Messages: map[string]string{"view": "The device already has a position in this view"},
			Access:   records.Access{Create: editors, Update: editors, Delete: editors},
			Within:   []string{"device_id"},
		}),
		records.Define[CableEnd](records.Definition{
			Name: "cable-ends", Label: "Cable end", Internal: true, Unaudited: true, Unindexed: []string{"created_at"},
			Messages: map[string]string{"port": "Port already has a cable"}, Within: []string{"cable_id"},
		}),
		records.Define[Event](records.Definition{
			Name: "events", Label: "Event", Description: "What happened in the network.", Prunable: true, Order: []string{"id:desc"},
			Show:   records.Show{Group: "Monitoring", Order: 400, Icon: "event", Columns: []string{"message", "severity", "type", "device_id", "created_at", "acknowledged_at"}},
			Routes: records.RoutesAll &^ records.RouteReplace,
			Within: []string{"device_id", "interface_id", "location_id"},
		}),
		records.Define[Metric](records.Definition{
			Name: "metrics", Label: "Metric", Description: "Measurements of devices.", Unaudited: true, Prunable: true, Unindexed: []string{"created_at"},
			Show:   records.Show{Group: "Monitoring", Order: 410, Icon: "chart", Columns: []string{"ts", "device_id", "cpu", "memory", "temp", "uptime_seconds"}},
			Latest: &records.Latest{Per: "device_id", At: "ts", Sorted: []string{"ts"}},
			Routes: records.RoutesRead | records.RouteCreate | records.RouteDeleteMany,
			Within: []string{"device_id"},
		}),
		records.Define[CustomField](records.Definition{
			Name: "custom-fields", Label: "Custom field", Description: "Fields that administrators add to records.",
			Show:     records.Show{Group: "Administration", Order: 610, Icon: "columns", Columns: []string{"name", "resource", "type", "label", "required", "default", "choices"}},
			Messages: map[string]string{"name": "Custom field already exists"},
			Access:   records.Access{Read: admins},
		}),
		records.Define[MetricRollup](records.Definition{
			Name: "metric-rollups", Label: "Metric rollup", Internal: true, Unaudited: true, Unindexed: []string{"created_at"}, Within: []string{"device_id"},
		}),
		records.Define[Job](records.Definition{Name: "jobs", Label: "Job", Internal: true, Unaudited: true}),
		records.Define[Session](records.Definition{Name: "sessions", Label: "Session", Internal: true, Unaudited: true, Lockable: true}),
		records.Define[ExternalIdentity](records.Definition{Name: "external-identities", Label: "External identity", Internal: true, Unaudited: true}),
		records.Define[APIToken](records.Definition{
			Name: "api-tokens", Label: "API token", Internal: true, Unaudited: true, Lockable: true,
			Messages: map[string]string{"name": "API token with this name already exists"},
		}),
		records.Define[Reset](records.Definition{Name: "resets", Label: "Reset", Internal: true, Unaudited: true}),
		records.Define[Attempts](records.Definition{Name: "attempts", Label: "Attempts", Internal: true, Unaudited: true}),
		records.Define[SecondFactor](records.Definition{Name: "second-factors", Label: "Second factor", Internal: true, Unaudited: true}),
		records.Define[Secret](records.Definition{Name: "secrets", Label: "Secret", Internal: true, Unaudited: true}),
	}
}
