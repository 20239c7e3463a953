// Package netbox reads what NetBox has, for package importer: from its JSON fixtures (manage.py dumpdata),
// compressed with gzip or not, or from its REST API.
//
//	export, err := netbox.Read(file)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, engine, []importer.Source{export.Source(schema)}, nil)
//
// Each kind of object that has a counterpart in the inventory is a row of a table in this package. Sites become
// locations, with their slug as site_code; a device without a name gets the one that NetBox shows.
// [Export.Unplaced] counts the rest by kind, and [Export.KeepUnknown] keeps what has no field in custom fields.
package netbox
