// Package importer writes the rows of files into an inventory: tables in CSV and workbooks (.xlsx), JSON lines and YAML.
// Each row creates a record, or changes the one with the same natural key ([records.Definition].Keys) or id, so that a
// second import of a file changes nothing.
//
//	source, err := importer.Open("devices.csv", file, store.Schema(), nil)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, records.New(store, nil), []importer.Source{source}, nil)
//
// The columns of a row are the fields of its resource as in JSON. A reference is location_id with an id or a name, or
// location with a natural key, which counts if both are present. Fields that clients can't set, and columns whose names
// begin with an underscore, are ignored. A missing column leaves a field unchanged; an empty cell, or null, clears it.
//
// The header of a table may also have the words of spreadsheets ([Column]), and columns for the parts of natural keys such
// as device.hostname and device.location. The cells of CSV have commas, semicolons or tabs between them.
//
// A row may refer to records of other rows of the same run, in any order. Files whose names or options
// say their resource are read in the order of references: locations before devices. Port templates come
// after ports if there are any: a new device has the ports of the rows, and those of its type without them.
//
// In one transaction the state counts that all rows describe: they may swap serial numbers or rack units, and have those of
// records that are pruned, in any order.
//
// # Errors
//
// A row that is invalid, or that refers to a record that does not exist, is rejected: the report says
// where, in the words of the file, and what would be right, for each wrong value. With [Stop] nothing is changed then: all rows are one transaction, and
// so they are in a dry run. With [Skip] the other rows are applied, in transactions of up to 1,000.
//
// # Bounds
//
// A row has up to 1 MiB, a workbook 16 MiB, and 64 MiB when it is unpacked. Rows of one transaction are up to
// [Options].MaxRows with [MaxBytes]; until it commits they are in memory, compressed. With Skip memory is constant: up to
// 10,000 rows (16 MiB) wait for records that they refer to, and two rows for one record are recognized among the last
// 500,000 rows. Beyond that, the later row is applied as well.
//
// # Design notes
//
// References are looked up in the transaction that uses them, and rows go through
// [records.Engine], so that every rule that holds for single changes holds for rows, the limits of the
// caller included.
//
// A call of the engine that fails may leave some of its changes in the transaction. So it is rolled
// back, and runs again without the rows that have failed.
package importer
