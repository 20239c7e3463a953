// Package netbox reads what NetBox has, for package importer: from its JSON fixtures (manage.py dumpdata),
// compressed with gzip or not, from its REST API, or from the YAML files of its library of device types.
//
//	export, err := netbox.Read(file)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, engine, []importer.Source{export.Source(schema)}, nil)
//
// Each kind of object that has a counterpart in the inventory is a row of a table in this package, with a column for
// each field. Sites become locations, with their slug as site_code; a device without a name gets the one that NetBox
// shows. [Export.Unplaced] counts the rest by kind and field, and [Export.KeepUnknown] keeps what has no field in custom
// fields.
//
// # Design notes
//
// The forms of all versions, 3.2 to 4.7, are read side by side, without asking for the version: fixtures do not say it.
// A column names the members that have its value in any of them. An object with none of these leaves the field as it is,
// so that an import never clears what the next version has elsewhere.
//
// A value that the inventory can't have is left out and counted, rather than changed or a reason to reject the import:
// NetBox requires less to be unique than the inventory does.
package netbox
