package browsertest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExportForTools: from a filtered list two clicks lead to the addresses for Ansible, Prometheus and others, which have the
// devices of that filter, and a third one copies such an address.
func TestExportForTools(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 20)
	for _, name := range []string{"tool-1", "tool-2"} {
		id := s.create("devices", map[string]any{"hostname": name, "ip": "192.0.2." + name[5:], "role": "o'brien & sons"})
		s.create("interfaces", map[string]any{"device_id": id, "name": "eth0", "mac_address": "02:00:00:00:00:0" + name[5:], "ip_address": "192.0.2." + name[5:] + "/24"})
	}
	page := s.open("admin", "/r/devices?role=o%27brien+%26+sons&sortby=hostname%3Adesc&column=hostname&limit=25", nil)
	page.Click(`details:has(a[href*="/tools?"]) > summary`)
	page.Click(`.lists-menu a[href*="/tools?"]`)
	page.AwaitText("main", "the 2 devices of this view")
	page.Click(`button[aria-label="Copy the address for Ansible"]`)
	page.Spent(3)
	page.Type("#tools-origin", "example.net\n")
	page.AwaitText("main", "origin=example.net")
	s.looks(page, "tools")
	var addresses []string
	page.Eval(`[...document.querySelectorAll("code.tools-url")].map(c => c.innerText)`, &addresses)
	require.Len(t, addresses, 7)
	for _, address := range addresses {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.token)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", address, text)
		require.Contains(t, string(text), "tool-1", address)
		require.NotContains(t, string(text), "-acc-", address)
	}
	page.Submit(`a[href$="#account-tokens"]`)
	page.Type("#token-current", consolePassword)
	page.Submit(".account-new .button-main")
	page.Submit(`a[href$="/account"].button`)
	require.Contains(t, page.Text("#account-tokens"), "Export of devices")
	page.Silent()
}
