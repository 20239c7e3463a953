package browsertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsoleDrift: the output of a device is compared, one of two differences is chosen, previewed and applied.
func TestConsoleDrift(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 2)
	s.needs("/drift")
	for _, host := range []string{"drift-a", "drift-b"} {
		s.api("POST", "/devices", map[string]any{"hostname": host}, nil)
		for _, port := range []string{"Gi1/0/1", "Gi1/0/2"} {
			s.api("POST", "/interfaces", map[string]any{"device": host, "name": port}, nil)
		}
	}
	page := s.open("editor", "/drift", nil)
	page.Type("#device", "drift-")
	page.AwaitText("#drift-devices", "drift-b, no location")
	s.looks(page, "drift-table")
	page.Type("#device", "a")
	page.Type("#text", "[\n {\"local_interface\": \"Gi1/0/1\"},\n {]")
	page.Submit(".steps-split .button-main")
	page.AwaitText(".problems", "line 3")
	page.Expected("400")
	page.Goto(s.url + "/console/drift?device=drift-a")
	neighbor := func(own, far string) string {
		return "Local Intf: " + own + "\nChassis id: 001a.2b3c.4d5e\nPort id: " + far + "\nSystem Name: drift-b\n\n"
	}
	page.Type("#text", neighbor("Gi1/0/1", "Gi1/0/1")+neighbor("Gi1/0/2", "Gi1/0/2")+neighbor("Gi1/0/9", "Gi1/0/2"))
	page.Submit(".steps-split .button-main")
	page.AwaitText("main", "3 differences")
	page.AwaitText(".drift-table", "The device hears drift-b, port Gi1/0/1. The inventory has no link there.")
	page.AwaitText(".drift-table", "Cannot be applied")
	s.looks(page, "drift-differences")
	page.Click(`input[aria-label="Apply: Gi1/0/2, unexpected"]`)
	page.Submit(`button[value="preview"]`)
	page.AwaitText("main", "1 difference is applied in one transaction.")
	page.AwaitText("main", "New links")
	s.looks(page, "drift-preview")
	before := s.number("/links")
	page.Submit(`button[value="apply"]`)
	page.AwaitText(".notice", "1 difference is applied.")
	s.looks(page, "drift-applied")
	page.Submit(`button[value="compare"]`)
	page.AwaitText("main", "2 differences")
	require.Equal(t, before+1, s.number("/links"))
	device := s.first("/devices?hostname=drift-a")
	port := s.first("/interfaces?name=Gi1%2F0%2F2&device_id=" + device["id"].(string))
	require.Equal(t, "lldp", s.first("/links?a_interface_id=" + port["id"].(string))["discovery"])
	page.Silent()
}
