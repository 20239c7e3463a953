package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// keepDevice refuses the deletion of a device with a running contract.
func keepDevice(ctx context.Context, tx records.Tx, before, after records.Record) error {
	if after != nil {
		return nil // not a deletion
	}
	own, err := sqlstore.SQL(tx)
	if err != nil {
		return err
	}
	var customer string
	err = own.QueryRowContext(ctx, "SELECT customer FROM contracts WHERE device_id = ? AND ends >= date()", before.Meta().ID).Scan(&customer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &records.Error{Kind: records.Conflict, Message: "The device has a running contract with " + customer}
}

// rename changes the hostname in the contracts of a device, in the transaction of the change of the device.
func rename(ctx context.Context, tx records.Tx, before, after records.Record) error {
	if before == nil || after == nil {
		return nil
	}
	own, err := sqlstore.SQL(tx)
	if err == nil {
		_, err = own.ExecContext(ctx, "UPDATE contracts SET hostname = ? WHERE device_id = ?", after.(*inventory.Device).Hostname, before.Meta().ID)
	}
	return err
}

// announce returns a hook that passes on what was committed, and does not wait.
func announce(events chan<- string) func(context.Context, []*records.AuditLog) {
	return func(_ context.Context, entries []*records.AuditLog) {
		for _, e := range entries {
			select {
			case events <- e.Actor + ": " + e.Action + " " + e.ResourceType:
			default: // nobody listens
			}
		}
	}
}
