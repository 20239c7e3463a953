package imports_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestLongImport: an import that takes longer than a server gives responses has its report, and the rows of a body that
// has arrived are not lost.
func TestLongImport(t *testing.T) {
	t.Parallel()
	var once sync.Once
	schema, err := inventory.NewSchema(records.OnChange("locations", func(context.Context, records.Tx, records.Record, records.Record) error {
		once.Do(func() { <-time.After(300 * time.Millisecond) })
		return nil
	}))
	require.NoError(t, err)
	api := featuretest.New(t, records.NewMemStore(schema), imports.New())
	server := httptest.NewUnstartedServer(api.API)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	rows := "name\n" + strings.Repeat("x", 60_000) + "\nVienna\nGraz\n" // more than is read at once
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/import?resource=locations&on_error=skip", strings.NewReader(rows))
	require.NoError(t, err)
	r.Header = api.As("root").Header.Clone()
	r.Header.Set("Content-Type", "text/csv")
	w, err := server.Client().Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Body.Close()) }()
	var report struct{ Created, Rejected int }
	require.NoError(t, json.NewDecoder(w.Body).Decode(&report))
	require.Equal(t, 2, report.Created)
	require.Equal(t, 1, report.Rejected)
}

// TestReportAgain: an import goes on when its client has gone. Its sender reads how far it is, and then the report.
func TestReportAgain(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	schema, err := inventory.NewSchema(records.OnChange("locations", func(context.Context, records.Tx, records.Record, records.Record) error {
		once.Do(func() { close(reached) })
		select {
		case <-release:
		case <-time.After(20 * time.Second):
		}
		return nil
	}))
	require.NoError(t, err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), schema, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	api := featuretest.New(t, store, imports.New())
	root, editor := api.As("root"), api.As("editor")
	server := httptest.NewServer(api.API)
	t.Cleanup(server.Close)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/import?resource=locations", strings.NewReader("name\nVienna\nGraz\n"))
	require.NoError(t, err)
	r.Header = root.Header.Clone()
	r.Header.Set("Content-Type", "text/csv")
	r.Header.Set("X-Request-Id", "import-1")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if w, err := server.Client().Do(r); err == nil {
			_ = w.Body.Close()
		}
	}()
	<-reached
	leave()
	<-gone
	read := func() map[string]any {
		return featuretest.Read(t, root.Send("GET", "/import/import-1", nil).Want(200))
	}
	require.Equal(t, "running", read()["status"])
	editor.Send("GET", "/import/import-1", nil).Want(404)
	close(release)
	require.Eventually(t, func() bool { return read()["status"] == "success" }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 2.0, read()["created"])

	root.Send("POST", "/import?resource=locations", "nam\nx\n", "Content-Type", "text/csv", "X-Request-Id", "import-2").Want(400)
	require.Equal(t, "error", featuretest.Read(t, root.Send("GET", "/import/import-2", nil).Want(200))["status"])
	root.Send("GET", "/import/unknown", nil).Want(404)
}
