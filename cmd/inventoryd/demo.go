package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// fillDemo fills an empty inventory with demo records and shows its progress. It
// leaves an inventory that already has records unchanged.
func fillDemo(ctx context.Context, env cli.Env, store records.Store, devices int) error {
	w, begin, p := env.Stderr, time.Now(), cli.NewProgress(env, "demo")
	n, err := demo.Fill(ctx, store, &demo.Options{Devices: devices, Progress: func(done, total int) {
		p.Show(func(elapsed time.Duration) string { return cli.Done(int64(done), int64(total), "devices", elapsed) })
	}})
	p.End()
	if records.KindOf(err) == records.Conflict {
		fmt.Fprintln(w, "demo: the inventory already has records: nothing added")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "demo: %d locations, %d devices, %d interfaces, %d links, %d cables, %d metrics, %d events in %.1f s\n",
		n["locations"], n["devices"], n["interfaces"], n["links"], n["cables"], n["metrics"], n["events"], time.Since(begin).Seconds())
	return nil
}
