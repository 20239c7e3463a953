package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// benchWriters measures updates of single devices by 16 writers, each with its audit log entry.
func benchWriters(b *testing.B, store records.Store) {
	const writers = 16
	v := records.New(store, nil)
	ctx := b.Context()
	devices := records.Of[inventory.Device](store.Schema())
	ids := make([]string, writers)
	for i := range ids {
		d := newDevice(fmt.Sprint("writer-", i))
		require.NoError(b, v.Create(ctx, records.Caller{Name: "bench"}, d))
		ids[i] = d.ID
	}
	var n atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		group.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				_, err := v.Update(ctx, records.Caller{Name: "bench"}, devices, records.Edit{ID: ids[w], Apply: func(rec records.Record) error {
					rec.(*inventory.Device).Notes = fmt.Sprint(i)
					return nil
				}})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

func newDevice(name string) *inventory.Device {
	return &inventory.Device{Hostname: name, IP: "192.0.2.1", Model: "m", Vendor: "v", OS: "o", Status: inventory.DeviceActive}
}

// benchCascades measures the deletion of a location with 10,000 devices, and of a device with
// 1,000 interfaces, in milliseconds.
func benchCascades(b *testing.B, store records.Store) {
	v, by, ctx := records.New(store, nil), records.Caller{Name: "bench"}, b.Context()
	var location, device time.Duration
	for n := range b.N {
		l := &inventory.Location{Name: fmt.Sprint(n), City: "c", Country: "c", Address: "a"}
		require.NoError(b, v.Create(ctx, by, l))
		for i := range 10 {
			createMany(b, ctx, v, by, func(j int) records.Record {
				d := newDevice(fmt.Sprint("d-", n, "-", i, "-", j))
				d.LocationID = &l.ID
				return d
			})
		}
		d := newDevice(fmt.Sprint("big-", n))
		require.NoError(b, v.Create(ctx, by, d))
		createMany(b, ctx, v, by, func(j int) records.Record {
			return &inventory.Interface{DeviceID: d.ID, Name: fmt.Sprint("eth", j), Type: "ethernet", Status: inventory.LinkUp}
		})
		start := time.Now()
		require.NoError(b, v.Delete(ctx, by, records.Of[inventory.Location](store.Schema()), records.Edit{ID: l.ID}))
		location += time.Since(start)
		start = time.Now()
		require.NoError(b, v.Delete(ctx, by, records.Of[inventory.Device](store.Schema()), records.Edit{ID: d.ID}))
		device += time.Since(start)
	}
	b.ReportMetric(float64(location.Milliseconds())/float64(b.N), "location-ms")
	b.ReportMetric(float64(device.Milliseconds())/float64(b.N), "device-ms")
}

func createMany(b *testing.B, ctx context.Context, v *records.Engine, by records.Caller, record func(n int) records.Record) {
	b.Helper()
	all := make([]records.Record, records.MaxItems)
	for i := range all {
		all[i] = record(i)
	}
	require.NoError(b, v.Create(ctx, by, all...))
}
