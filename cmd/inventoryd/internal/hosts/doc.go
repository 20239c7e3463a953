// Package hosts reads the hosts of Ansible inventories in YAML and INI, for package importer.
//
//	inventory, err := hosts.Read(hosts.File{Name: "inventory.ini", Reader: file})
//	if err != nil {
//		return err
//	}
//	source, err := inventory.Source(ctx, engine)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, engine, []importer.Source{source}, nil)
//
// Each host becomes a device with its name in the inventory, and the names of its groups as tags. These
// variables of it or of its groups become fields, the first of a row that it has:
//
//	ip             ansible_host, ansible_ssh_host, or the name of the host: if it is an address
//	os             os, platform, ansible_network_os (its last part: ios of cisco.ios.ios)
//	os_version     os_version
//	vendor         vendor, manufacturer
//	model          model
//	role           role, device_role
//	serial_number  serial_number, serial
//	location       site, location: a new location with this name, unless a site_code or a name is equal
//
// [Inventory.Unplaced] counts all other variables by name.
//
// # Design notes
//
// Only variables in this list are kept, so that no secret of another one is in a row, a message or memory.
// Values of Ansible Vault and templates (Jinja) are left out, and counted. A field that the files do not have
// stays as it is in the inventory.
//
// Ansible merges variables in the order all, parent groups, child groups, hosts; of groups of one depth the last
// by name counts. Directories group_vars and host_vars are not read: `ansible-inventory --list --yaml` merges
// them into one file.
package hosts
