package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestMissing: a page that is not there has the navigation, and the way to the list.
func TestMissing(t *testing.T) {
	t.Parallel()
	pages, _ := pagesOf(t, records.NewMemStore(inventory.Schema()))
	for target, list := range map[string]bool{
		"/nowhere": false, "/r/nothings": false, "/r/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f": true, "/r/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f/edit": true, "/r/metrics/x/nowhere": false,
	} {
		status, _, page := visit(t, pages, target)
		require.Equal(t, 404, status, target)
		require.Contains(t, page, `aria-label="Main`, target)
		require.Equal(t, list, strings.Contains(page, ">All "), target)
	}
}

// TestPaletteWords: the palette finds a record behind the name of its kind, and does what a word behind its name says.
func TestPaletteWords(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	engine, by := records.New(store, nil), records.Caller{Name: "test"}
	require.NoError(t, engine.Create(t.Context(), by, &inventory.VLAN{VLANID: 30, Name: "voice"}, &inventory.VLAN{VLANID: 31, Name: "video"}))
	require.NoError(t, engine.Create(t.Context(), by, &inventory.Device{Hostname: "ams1-acc-01"}))
	pages, _ := pagesOf(t, store)
	for text, want := range map[string][2]string{
		"vlan+30":          {"30 voice", "video"},
		"vlan+video":       {"31 video", "voice"},
		"devices+acc":      {"ams1-acc-01", "voice"},
		"ams1-acc-01+edit": {"Edit ams1-acc-01", "voice"},
		"vlan+30+history":  {"History of 30 voice", "video"},
		"acc+delete":       {"/delete", "voice"},
	} {
		status, _, shown := visit(t, pages, "/search?part=palette&q="+text)
		require.Equal(t, 200, status)
		require.Contains(t, shown, want[0], text)
		require.NotContains(t, shown, want[1], text)
	}
}
