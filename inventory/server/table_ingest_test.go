//go:build unix

package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// ingest adds metrics, 1,000 a request. Its baseline is that of bareInserts.
func (x *measured) ingest() {
	x.t.Helper()
	requests := 3
	if *fullTable {
		requests = 50
	}
	entries := x.count("audit_logs")
	bodies := make([]string, requests)
	for i := range bodies {
		items := make([]map[string]any, records.MaxItems)
		for j := range items {
			items[j] = map[string]any{
				"device_id": x.ids[(i*records.MaxItems+j)%len(x.ids)], "cpu": float64(j%1000) / 10, "memory": 40, "temp": 30.5,
				"uptime_seconds": i*1000 + j, "ts": time.Now().UTC().Format(time.RFC3339Nano),
			}
		}
		body, err := json.Marshal(items)
		require.NoError(x.t, err)
		bodies[i] = string(body)
	}
	var all times
	begin := time.Now()
	for _, body := range bodies {
		one := time.Now()
		w := x.send(x.Server, x.token, "POST", "/metrics", body)
		all = append(all, time.Since(one))
		require.Equal(x.t, 201, w.Code, w.Body.String())
	}
	rate := float64(requests*records.MaxItems) / time.Since(begin).Seconds()
	slices.Sort(all)
	least := x.bareInserts(requests)
	x.row("POST /metrics, 1,000 each", 20, all, least.ms(50), requests*records.MaxItems, 0)
	bare := float64(records.MaxItems) / (least.ms(50) / 1000)
	x.note("metrics a second", fmt.Sprintf("%.0f, %.0f at best, with %d audit log entries; bare inserts %.0f, %.0f at best", rate,
		records.MaxItems/(all.ms(0)/1000), x.count("audit_logs")-entries, bare, records.MaxItems/(least.ms(0)/1000)))
}

// bareInserts measures transactions of 1,000 prepared INSERTs of one metric each, without the server.
// The metrics are deleted again.
func (x *measured) bareInserts(transactions int) (all times) {
	x.t.Helper()
	ctx := x.t.Context()
	conn, err := x.db.Conn(ctx)
	require.NoError(x.t, err)
	defer func() { require.NoError(x.t, conn.Close()) }()
	parameters, at := "$1, $2, $2, 1, $3, $4, 40, 30.5, $5, $2", func(at time.Time) any { return at }
	if x.driver == "sqlite" { // as the server has them
		parameters, at = strings.ReplaceAll(parameters, "$", "?"), func(at time.Time) any { return at.UnixMicro() }
		for _, pragma := range []string{"synchronous(NORMAL)", "foreign_keys(1)", "cache_size(-32000)", "wal_autocheckpoint(4000)", "busy_timeout(5000)"} {
			_, err := conn.ExecContext(ctx, "PRAGMA "+pragma)
			require.NoError(x.t, err)
		}
	}
	var ids []string
	for i := range transactions {
		for range records.MaxItems {
			id, err := uuid.NewV7()
			require.NoError(x.t, err)
			ids = append(ids, id.String())
		}
		begin := time.Now()
		tx, err := conn.BeginTx(ctx, nil)
		require.NoError(x.t, err)
		stmt, err := tx.PrepareContext(ctx, "INSERT INTO metrics (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts) VALUES ("+parameters+")")
		require.NoError(x.t, err)
		for j, id := range ids[i*records.MaxItems:] {
			_, err := stmt.ExecContext(ctx, id, at(begin), x.ids[(i*records.MaxItems+j)%len(x.ids)], float64(j)/10, i*1000+j)
			require.NoError(x.t, err)
		}
		require.NoError(x.t, tx.Commit())
		all = append(all, time.Since(begin))
	}
	tx, err := conn.BeginTx(ctx, nil)
	require.NoError(x.t, err)
	for _, id := range ids {
		_, err := tx.ExecContext(ctx, "DELETE FROM metrics WHERE id = "+parameters[:2], id)
		require.NoError(x.t, err)
	}
	require.NoError(x.t, tx.Commit())
	slices.Sort(all)
	return all
}
