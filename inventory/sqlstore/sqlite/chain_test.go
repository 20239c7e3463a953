package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestVerifyAudit changes the tables of the audit log behind the back of the store: each change must be
// found where it is.
func TestVerifyAudit(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	whole := filepath.Join(t.TempDir(), "whole.db")
	store := open(t, whole)
	require.NoError(t, records.New(store, nil).Create(t.Context(), records.Caller{UserID: "u1", Name: "jane"}, makeDevices(0, 1000)...))
	before, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1000, before.Checked)
	require.NoError(t, store.Backup(t.Context(), whole+".copy"))
	file, err := os.ReadFile(whole + ".copy")
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		change string
		seq    int64 // of the defect; 0 for none, -1 for an entry without a position
	}{
		"nothing":             {"SELECT 1", 0},
		"a user is changed":   {"UPDATE audit_logs SET user_id = 'u2' WHERE id = (SELECT id FROM audit_chain WHERE seq = 2)", 2},
		"a user is removed":   {"UPDATE audit_logs SET user_id = NULL WHERE id = (SELECT id FROM audit_chain WHERE seq = 8)", 8},
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
		"an entry is added": {
			"CREATE TEMP TABLE added AS SELECT * FROM audit_logs LIMIT 1; UPDATE added SET id = 'ffffffff-0000-7000-8000-000000000000'; INSERT INTO audit_logs SELECT * FROM added", -1,
		},
		"entries are declared old": {"UPDATE audit_anchors SET seq = 5; UPDATE audit_chain SET hash = x'' WHERE seq <= 5", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inventory.db")
			require.NoError(t, os.WriteFile(path, file, 0o600))
			store := open(t, path)
			_, err := raw(t, path).Exec(tc.change)
			require.NoError(t, err)
			_, err = records.VerifyAudit(t.Context(), store, nil)
			if tc.seq == 0 {
				require.NoError(t, err)
				return
			}
			var defect *records.AuditDefect
			require.ErrorAs(t, err, &defect)
			require.Equal(t, max(tc.seq, 0), defect.Seq, "%v", defect)
			require.Equal(t, tc.seq < 0, defect.ID == "ffffffff-0000-7000-8000-000000000000", "%v", defect)
		})
	}
}

// TestVerifyPruned prunes the audit log twice, and changes what is left, and the anchor, behind the
// back of the store.
func TestVerifyPruned(t *testing.T) {
	t.Parallel()
	const entry = "(SELECT id FROM audit_logs WHERE action = 'prune')"
	for name, tc := range map[string]struct {
		change string
		seq    int64 // of the defect; 0 for none
	}{
		"nothing":                       {"SELECT 1", 0},
		"deletions are not complete":    {"INSERT INTO audit_chain VALUES (29, 'a', x''), (30, 'b', x'')", 0},
		"the anchor is missing":         {"DELETE FROM audit_anchors WHERE seq = 30", 1},
		"the anchor is later":           {"UPDATE audit_anchors SET seq = 31 WHERE seq = 30; DELETE FROM audit_chain WHERE seq = 31", 32},
		"the anchor has another hash":   {"UPDATE audit_anchors SET hash = x'00' WHERE seq = 30", 31},
		"the anchor has another number": {"UPDATE audit_anchors SET pruned = 31 WHERE seq = 30", 30},
		"the anchor has another actor":  {"UPDATE audit_anchors SET actor = 'joe' WHERE seq = 30", 30},
		"the anchor has another time":   {"UPDATE audit_anchors SET at = at + 1 WHERE seq = 30", 30},
		"a forged anchor": {
			"INSERT INTO audit_anchors SELECT seq, hash, 5, 'jane', 0 FROM audit_chain WHERE seq = 35; DELETE FROM audit_chain WHERE seq <= 35", 30,
		},
		"a forged anchor instead": {
			"UPDATE audit_anchors SET (seq, hash) = (SELECT seq, hash FROM audit_chain WHERE seq = 35) WHERE seq = 30; DELETE FROM audit_chain WHERE seq <= 35", 35,
		},
		"an entry is changed":        {"UPDATE audit_logs SET actor = 'joe' WHERE id = (SELECT id FROM audit_chain WHERE seq = 33)", 33},
		"the first entry is cut off": {"DELETE FROM audit_chain WHERE seq = 31", 31},
		"the entry of the anchor is cut off": {
			"DELETE FROM audit_chain WHERE id = " + entry + "; UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_chain ORDER BY seq DESC LIMIT 1)", 30,
		},
		"the entry of the anchor is changed": {"UPDATE audit_logs SET changes = '{}' WHERE id = " + entry, 41},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inventory.db")
			store := open(t, path)
			v, by := records.New(store, nil), records.Caller{Name: "jane"}
			logs := records.Of[records.AuditLog](store.Schema())
			require.NoError(t, v.Create(t.Context(), by, makeDevices(0, 20)...))
			_, err := v.Prune(t.Context(), by, logs, records.Retention{MaxRecords: 11})
			require.NoError(t, err)
			require.NoError(t, v.Create(t.Context(), by, makeDevices(20, 39)...))
			result, err := v.Prune(t.Context(), by, logs, records.Retention{MaxRecords: 11})
			require.NoError(t, err)
			require.Equal(t, &records.Pruned{Deleted: 20}, result)
			_, err = raw(t, path).Exec(tc.change)
			require.NoError(t, err)
			report, err := records.VerifyAudit(t.Context(), store, nil)
			if tc.seq == 0 {
				require.NoError(t, err)
				require.EqualValues(t, 11, report.Checked)
				require.EqualValues(t, 30, report.Pruned)
				return
			}
			var defect *records.AuditDefect
			require.ErrorAs(t, err, &defect)
			require.Equal(t, tc.seq, defect.Seq, "%v", defect)
		})
	}
}
