// Package sqlstoretest has records for the tests of sqlstore and of its drivers, the contract of stores, and a check
// of totals. What holds for both databases is tested in sqlstore itself.
package sqlstoretest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// ID returns the id of the nth device of [Devices].
func ID(n int) string { return fmt.Sprintf("018f4c2e-7b1a-7c3d-9e4f-%012d", n) }

// Devices returns devices of a large network: the nth to the one before the mth.
func Devices(n, m int) []records.Record {
	states := inventory.DeviceStatus("").Values()
	var devices []records.Record
	for ; n < m; n++ {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
		d := &inventory.Device{
			Base:     records.Base{ID: ID(n), CreatedAt: at, UpdatedAt: at, Version: 1},
			Hostname: fmt.Sprintf("host-%08d", n*7919%100000007), IP: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255),
			Model: "model " + strconv.Itoa(n%40), Vendor: "vendor " + strconv.Itoa(n%7), OS: "os " + strconv.Itoa(n%6),
			OSVersion: strconv.Itoa(n%30) + ".1", Status: inventory.DeviceStatus(states[n%5]), Role: "role " + strconv.Itoa(n%5),
			SerialNumber: fmt.Sprintf("SN%09d", n*104729%1000000007), RackPosition: fmt.Sprintf("R%d-U%d", n/40%500, n%40),
			LastSeen: &at, Tags: []string{"edge", "core"},
		}
		d.Normalize() // sets its key
		devices = append(devices, d)
	}
	return devices
}

// WithBase gives a record the id, times and version of the nth device.
func WithBase[R records.Record](n int, rec R) R {
	*rec.Meta() = *Devices(n, n+1)[0].Meta()
	if d, ok := any(rec).(*inventory.Device); ok {
		d.Normalize() // sets its key
	}
	return rec
}

// Create creates records in one transaction.
func Create(t testing.TB, store records.Store, recs ...records.Record) error {
	t.Helper()
	return store.Change(t.Context(), func(tx records.Tx) error { return tx.Create(t.Context(), recs...) })
}
