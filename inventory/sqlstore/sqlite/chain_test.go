package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// TestVerifyAudit changes the tables of the audit log behind the back of the store: each change must be
// found where it is.
func TestVerifyAudit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change string
		seq    int64 // of the defect; 0 for none
	}{
		"nothing":             {"SELECT 1", 0},
		"a user is deleted":   {"UPDATE audit_logs SET user_id = NULL, version = version + 1", 0},
		"an entry is changed": {"UPDATE audit_logs SET actor = 'nobody' WHERE id = (SELECT id FROM audit_chain WHERE seq = 700)", 700},
		"changes are changed": {"UPDATE audit_logs SET changes = '{}' WHERE id = (SELECT id FROM audit_chain WHERE seq = 3)", 3},
		"an entry is deleted": {"DELETE FROM audit_logs WHERE id = (SELECT id FROM audit_chain WHERE seq = 4)", 4},
		"a gap":               {"DELETE FROM audit_chain WHERE seq = 501", 501},
		"another order":       {"UPDATE audit_chain SET id = (SELECT id FROM audit_chain WHERE seq = 6) WHERE seq = 5", 5},
		"the end is cut off":  {"DELETE FROM audit_chain WHERE seq > 900", 901},
		"the end is moved":    {"UPDATE audit_head SET seq = 900", 900},
		"the start is cut off without an entry": {
			"INSERT INTO audit_anchors SELECT seq, hash, 10, '', 0 FROM audit_chain WHERE seq = 10", 10,
		},
		"entries are declared old": {"UPDATE audit_anchors SET seq = 5; UPDATE audit_chain SET hash = x'' WHERE seq <= 5", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inventory.db")
			store := open(t, path)
			v := records.New(store, nil)
			require.NoError(t, v.Create(t.Context(), records.Caller{Name: "jane"}, makeDevices(0, 1000)...))
			before, err := records.VerifyAudit(t.Context(), store)
			require.NoError(t, err)
			require.EqualValues(t, 1000, before.Checked)
			_, err = raw(t, path).Exec(tc.change)
			require.NoError(t, err)
			_, err = records.VerifyAudit(t.Context(), store)
			if tc.seq == 0 {
				require.NoError(t, err)
				return
			}
			var defect *records.AuditDefect
			require.ErrorAs(t, err, &defect)
			require.Equal(t, tc.seq, defect.Seq, "%v", defect)
		})
	}
}

// TestVerifyPruned checks an anchor with its entry.
func TestVerifyPruned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	v, by := records.New(store, nil), records.Caller{Name: "jane"}
	require.NoError(t, v.Create(t.Context(), by, makeDevices(0, 20)...))
	page, err := store.AuditAfter(t.Context(), 9, 1)
	require.NoError(t, err)
	anchor := &records.AuditAnchor{AuditPosition: page[0].AuditPosition, Pruned: 10}
	entry, err := v.AuditEntry(by, records.PruneAction, "audit_log", "", records.SignAnchor(anchor))
	require.NoError(t, err)
	require.NoError(t, sqlstoretest.Create(t, store, entry))
	db := raw(t, path)
	_, err = db.Exec("DELETE FROM audit_logs WHERE id IN (SELECT id FROM audit_chain WHERE seq <= 10)")
	require.NoError(t, err)
	_, err = db.Exec("DELETE FROM audit_chain WHERE seq <= 10")
	require.NoError(t, err)
	_, err = records.VerifyAudit(t.Context(), store)
	require.ErrorContains(t, err, "position 1: missing")
	_, err = db.Exec("INSERT INTO audit_anchors (seq, hash, pruned, actor, at) VALUES (10, ?, 10, 'jane', 0)", anchor.Hash)
	require.NoError(t, err)
	report, err := records.VerifyAudit(t.Context(), store)
	require.NoError(t, err)
	require.EqualValues(t, 11, report.Checked)
	require.EqualValues(t, 10, report.Pruned)
}
