// Package drift compares what devices report about themselves with an inventory: tables of neighbours with
// its links, and tables of interfaces with its interfaces. The differences that somebody chooses are applied.
//
//	found, err := drift.Compare(ctx, store, []drift.Table{{DeviceID: id, Kind: drift.Neighbors, Neighbors: neighbors}})
//	if err != nil {
//		return err
//	}
//	err = engine.Together(ctx, func(ctx context.Context, in *records.Engine) error {
//		return drift.Apply(ctx, in, by, found, nil)
//	})
//
// Package discovery reads the tables and compares names; this package knows the records.
//
// # Design notes
//
// A difference has an id that follows from what it says: the device, what is expected, what was observed, and
// the change. So nothing is stored between a report and the request that applies some of it, and an id that the
// inventory has outdated does not appear in the next report.
//
// A cable that has moved is a difference on up to three devices, with changes of one link. Apply therefore takes
// the changes together: the links that shall be there, and those that shall not. A link that shall not be there
// becomes one that shall, if a difference says so; it keeps its id, its type and its cable.
package drift
