package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestAccountMenu: only a console with accounts has links to them.
func TestAccountMenu(t *testing.T) {
	t.Parallel()
	own, _ := pagesOf(t, records.NewMemStore(inventory.Schema()))
	w := httptest.NewRecorder()
	own.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	page := w.Body.String()
	require.Contains(t, page, "manages the accounts")
	require.NotContains(t, page, "/signout")
	page = featuretest.New(t, nil).Page("viewer", "/")
	require.Contains(t, page, `action="/signout"`)
	require.NotContains(t, page, "manages the accounts")
}
