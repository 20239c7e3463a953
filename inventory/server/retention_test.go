package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestRetention starts a server whose settings keep fewer records than there are. A second one
// with the same database leaves the work to the first.
func TestRetention(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{"AUDIT_RETENTION": "0", "METRICS_RETENTION": "0"})
	require.NoError(t, serve(t, s).stop()) // which creates the first administrator, and does not prune
	srv, err := server.New(t.Context(), s, nil)
	require.NoError(t, err)
	fill := func() {
		var recs []records.Record
		for range 30 {
			recs = append(recs, &inventory.Event{Severity: "info", Type: "t", Message: "m"})
		}
		require.NoError(t, records.New(srv.Store(), nil).Create(t.Context(), records.Caller{}, recs...))
	}
	total := func(resource string, filter ...string) int64 {
		r, _ := srv.Store().Schema().Named(resource)
		q := &records.Query{Resource: r, Limit: 1, Count: true}
		if len(filter) > 0 {
			q.Where(filter[0], filter[1])
		}
		page, err := srv.Store().List(t.Context(), q)
		require.NoError(t, err)
		return page.Total
	}
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	fill()
	s.EventMax, s.EventRetention, s.AuditMaxEntries = 10, time.Hour, 7
	first := serve(t, s)
	require.Eventually(t, func() bool {
		log := first.log.String()
		return strings.Contains(log, "deleted\" resource=events") && strings.Contains(log, "deleted\" resource=audit-logs")
	}, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 2, total("audit-logs", "action", records.PruneAction))
	require.EqualValues(t, 10, total("events"))
	require.LessOrEqual(t, total("audit-logs"), int64(8)) // the events may be the last to be pruned
	fill()
	serve(t, s).login("admin", password)
	require.EqualValues(t, 40, total("events"))
	_, err = records.VerifyAudit(t.Context(), srv.Store(), nil)
	require.NoError(t, err)
}

// TestAutoRetention: a new database keeps a year of the audit log unless settings say otherwise; one from before that
// default keeps all.
func TestAutoRetention(t *testing.T) {
	t.Parallel()
	const said = "unless AUDIT_RETENTION and METRICS_RETENTION are 0"
	s := settings(t, nil)
	require.NoError(t, serve(t, s).stop())
	srv, err := server.New(t.Context(), s, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	off := *s
	off.AuditRetention, off.MetricsRetention = 0, 0
	kept := serve(t, &off)
	require.NoError(t, kept.stop())
	require.NotContains(t, kept.log.String(), said)
	auto := serve(t, s)
	require.Eventually(t, func() bool { return strings.Contains(auto.log.String(), said) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, auto.stop())

	require.NoError(t, srv.Store().Change(t.Context(), func(tx records.Tx) error { // as in a database of an earlier version
		mark, err := records.First[inventory.Secret](t.Context(), tx, "name", "retention defaults")
		if err != nil {
			return err
		}
		return tx.Delete(t.Context(), records.Of[inventory.Secret](srv.Store().Schema()), mark.ID, mark.Version, nil)
	}))
	before := serve(t, s)
	require.NoError(t, before.stop())
	require.NotContains(t, before.log.String(), said)
}
