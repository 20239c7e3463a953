package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// fillDemo fills an empty inventory with demo records and writes its progress to w. It
// leaves an inventory that already has records unchanged.
func fillDemo(ctx context.Context, w io.Writer, store records.Store, devices int) error {
	begin := time.Now()
	n, err := demo.Fill(ctx, store, &demo.Options{Devices: devices, Progress: func(done, total int) {
		fmt.Fprintf(w, "\rdemo: %d of %d records", done, total)
	}})
	if records.KindOf(err) == records.Conflict {
		fmt.Fprintln(w, "demo: the inventory already has records: nothing added")
		return nil
	}
	if err != nil {
		fmt.Fprintln(w)
		return err
	}
	fmt.Fprintf(w, "\rdemo: %d locations, %d devices, %d interfaces, %d links, %d cables, %d metrics, %d events in %.1f s\n",
		n.Locations, n.Devices, n.Interfaces, n.Links, n.Cables, n.Metrics, n.Events, time.Since(begin).Seconds())
	return nil
}
