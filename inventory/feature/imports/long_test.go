package imports_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
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
