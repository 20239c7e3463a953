package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestAllocateAddress: three clicks give a port the next free address of the prefix of its VLAN, which the form has before
// anything is created. The space of a prefix has its used, reserved and free ranges.
func TestAllocateAddress(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	n := s.detailNetwork()
	vlan := s.first("/vlans?vlan_id=10&location_id=" + n.site)["id"]
	prefix := s.create("prefixes", map[string]any{"prefix": "10.77.0.0/24", "vlan_id": vlan, "location_id": n.site})
	for _, host := range []int{1, 2, 3, 20} {
		s.create("addresses", map[string]any{"address": fmt.Sprintf("10.77.0.%d/24", host), "status": map[bool]string{true: "reserved", false: "active"}[host == 20]})
	}
	count := func() string { return fmt.Sprint(len(s.all("/addresses?address__within=10.77.0.0/24"))) }
	page := s.open("admin", "/r/devices/"+n.sw1, nil)
	page.Click(`#device-interfaces a[href$="/interfaces/` + n.eth0 + `/new-address"]`)
	page.Await("#f-address")
	var filled []string
	page.Eval(`["address","interface_id"].map((f) => document.getElementById("f-"+f).value)`, &filled)
	require.Equal(t, []string{"10.77.0.4/24", "eth0 @ sw1"}, filled)
	require.Equal(t, "4", count(), "nothing is created before the form is sent")
	page.Click(".change-actions .button-main")
	page.AwaitText("h1", "10.77.0.4")
	page.Spent(3)
	require.Equal(t, "5", count())

	page.Goto(s.url + "/console/r/prefixes/" + prefix)
	require.Regexp(t, `4 used 10.77.0.1 – 10.77.0.4 15 free 10.77.0.5 – 10.77.0.19 10.77.0.20 .*234 free 10.77.0.21 – 10.77.0.254`, visible(page, "#prefix-space"))
	s.looks(page, "addresses-prefix")
	page.Submit("#prefix-space .ipam-free a")
	page.Eval(`document.getElementById("f-address").value`, &filled[0])
	require.Equal(t, "10.77.0.5/24", filled[0])
	page.Goto(s.url + "/console/r/prefixes/" + prefix)
	page.Submit(`a[href$="/next-address"]`)
	page.Eval(`document.getElementById("f-address").value`, &filled[0])
	require.Equal(t, "10.77.0.5/24", filled[0])

	s.create("prefixes", map[string]any{"prefix": "2001:db8:77::/64", "vlan_id": vlan, "location_id": n.site})
	page.Goto(s.url + "/console/interfaces/" + n.eth0 + "/new-address")
	page.AwaitText("main", "2001:db8:77::/64")
	s.looks(page, "addresses-offer")
	page.Submit(`main a[href*="interface_id="]`)
	page.Await("#f-address")

	big := s.create("prefixes", map[string]any{"prefix": "fd00::/16", "status": "container"})
	s.create("prefixes", map[string]any{"prefix": "fd00:1::/32", "status": "reserved"})
	var many []map[string]any
	for i := range 120 {
		many = append(many, map[string]any{"prefix": fmt.Sprintf("fd00:%x::/32", 0x1000+2*i)}, map[string]any{"prefix": fmt.Sprintf("fd00:%x:8000::/33", 0x1000+2*i)})
	}
	s.api("POST", "/prefixes", many, nil)
	page.Goto(s.url + "/console/r/prefixes/" + big)
	s.looks(page, "addresses-blocks")
	require.Regexp(t, `\+?Free fd00:: – fd00:0:ffff:ffff:ffff:ffff:ffff:ffff fd00:1::/32 .*Free fd00:2:: – fd00:fff:ffff:ffff:ffff:ffff:ffff:ffff fd00:1000::/32 .*Free fd00:1001:: – fd00:1001:ffff:ffff:ffff:ffff:ffff:ffff fd00:1002::/32 .* What begins at fd00:10c5:: is in the tree`, visible(page, "#prefix-space"))
	page.Goto(s.url + "/console/prefixes?under=" + big)
	page.Submit(`form[action$="/next-prefix"] button`)
	page.Eval(`document.getElementById("f-prefix").value`, &filled[0])
	require.Equal(t, "fd00::/24", filled[0][:4]+"::/24")
	page.Goto(s.url + "/console/r/prefixes")
	require.Contains(t, visible(page, "thead"), "Used")
	s.looks(page, "addresses-list")
}

// all returns the records of the first page of a list.
func (s *consoleServer) all(path string) []map[string]any {
	s.t.Helper()
	var page struct{ Data []map[string]any }
	s.api("GET", path, nil, &page)
	return page.Data
}

// TestVLANsOfPorts: five clicks give 30 ports their untagged and tagged VLANs; the preview names both, and the mode that they
// need. VLANs of the site of the device come first.
func TestVLANsOfPorts(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	n := s.detailNetwork()
	voice := s.create("vlans", map[string]any{"vlan_id": 30, "name": "voice", "location_id": n.site})
	away := s.create("locations", map[string]any{"name": "Away", "site_code": "AW"})
	s.create("vlans", map[string]any{"vlan_id": 30, "name": "AAA", "location_id": away})
	var ports []map[string]any
	for i := range 30 {
		ports = append(ports, map[string]any{"device_id": n.sw2, "name": fmt.Sprint("1/0/", i+1)})
	}
	s.api("POST", "/interfaces", ports, nil)
	data := s.create("vlans", map[string]any{"vlan_id": 20, "name": "data", "location_id": n.site})
	page := s.open("admin", "/r/interfaces?device_id="+n.sw2+"&name__startswith=1/0/&limit=50", nil)
	page.Click("[data-select-all]")
	page.Click(`#lists-selection button[value="edit"]`)
	page.Type("#f-untagged_vlan_id", "30")
	page.AwaitText(".change-list li", "30 voice")
	page.Press(kb.Enter)
	page.Click(`#f-tagged_vlans input[value="` + data + `"]`)
	page.Keep("vlans-bulk") // looks is for pages at their top: the bars that stick cover parts of this one
	page.Click(`button[value="preview"]`)
	page.AwaitText("main", "Apply to 30")
	for _, want := range []string{"Mode empty trunk 30", "Tagged VLANs empty 20 data 30", "Untagged VLAN empty 30 voice 30"} {
		require.Contains(t, visible(page, "main"), want)
	}
	s.looks(page, "vlans-preview")
	page.Click(`button[value="apply"]`)
	page.AwaitText(".notice", "The changes are applied")
	page.Spent(5)
	require.Len(t, s.all("/interfaces?mode=trunk&limit=100&untagged_vlan_id="+voice), 30)
	require.Len(t, s.all("/tagged-vlans?limit=100&vlan_id="+data), 30)

	page.Goto(s.url + "/console/r/vlans?location_id=" + n.site)
	require.Regexp(t, `users.* data.* voice`, visible(page, "tbody"), "by number")
	port := s.first("/interfaces?device_id=" + n.sw2 + "&name=1/0/1")["id"].(string)
	page.Goto(s.url + "/console/r/interfaces/" + port + "/edit")
	s.looks(page, "vlans-port")
	page.Click(`#f-tagged_vlans input[value="` + data + `"]`)
	page.Click(`#f-tagged_vlans input[value="` + voice + `"]`)
	page.Click(".change-actions .button-main")
	page.AwaitText(".notice", "Saved")
	require.Equal(t, voice, s.first("/tagged-vlans?interface_id=" + port)["vlan_id"])
	require.Len(t, s.all("/tagged-vlans?interface_id="+port), 1)

	access := s.create("interfaces", map[string]any{"device_id": n.sw2, "name": "access"})
	page.Goto(s.url + "/console/r/interfaces/" + access + "/edit")
	page.Type("#f-untagged_vlan_id", "20")
	page.AwaitText(".change-list li", "20 data")
	page.Press(kb.Enter)
	page.Click(".change-actions .button-main")
	page.AwaitText(".notice", "Saved")
	require.Equal(t, "access", s.first("/interfaces?name=access")["mode"])
	page.Goto(s.url + "/console/r/interfaces/" + access + "/edit")
	page.Click(`#f-tagged_vlans input[value="` + voice + `"]`)
	page.Click(".change-actions .button-main")
	page.AwaitText(".problems", "need the mode trunk")
	page.Expected("422")
	page.Silent()
}

// TestVLANsOfOnePort: a new port has its tagged VLANs at once, a trunk becomes an access port in one step, which the preview of
// several shows, and a change of a port that is refused leaves its tagged VLANs as they are.
func TestVLANsOfOnePort(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	n := s.detailNetwork()
	data := s.create("vlans", map[string]any{"vlan_id": 20, "name": "data", "location_id": n.site})
	page := s.open("admin", "/r/interfaces/new?device_id="+n.sw2, nil)
	s.looks(page, "vlans-new")
	page.Type("#f-name", "uplink")
	page.Click(`#f-tagged_vlans input[value="` + data + `"]`)
	page.Submit(".change-actions .button-main")
	port := s.landed(page, "interfaces", "created")
	require.Equal(t, "trunk", s.record("/interfaces/" + port)["mode"])
	require.Equal(t, data, s.first("/tagged-vlans?interface_id=" + port)["vlan_id"])

	page.Goto(s.url + "/console/r/interfaces/" + port + "/edit")
	page.Click(`#f-tagged_vlans input[value="` + data + `"]`)
	page.Type("#f-mtu", "1")
	page.Eval(`document.querySelector(".change-form").noValidate = true`, new(any))
	page.Submit(".change-actions .button-main")
	page.AwaitText("main", "MTU")
	page.Expected("400")
	require.Len(t, s.all("/tagged-vlans?interface_id="+port), 1)

	page.Goto(s.url + "/console/r/interfaces?device_id=" + n.sw2 + "&name=uplink")
	page.Click("[data-select-all]")
	page.Submit(`#lists-selection button[value="edit"]`)
	page.Type("#f-mode", "access")
	page.Submit(`button[value="preview"]`)
	require.Contains(t, visible(page, "main"), "Tagged VLANs 20 data empty")
	s.looks(page, "vlans-access")
	page.Submit(`button[value="apply"]`)
	require.Equal(t, "access", s.record("/interfaces/" + port)["mode"])
	require.Empty(t, s.all("/tagged-vlans?interface_id="+port))

	s.api("POST", "/transaction", []any{
		map[string]any{"method": "PATCH", "resource": "interfaces", "items": []any{map[string]any{"id": port, "mode": "trunk"}}},
		map[string]any{"method": "POST", "resource": "tagged-vlans", "items": []any{map[string]any{"interface_id": port, "vlan_id": data}}},
	}, nil)
	page.Goto(s.url + "/console/r/interfaces/" + port + "/edit")
	page.Eval(`document.getElementById("f-mode").value = "access"`, new(any))
	page.Submit(".change-actions .button-main")
	s.landed(page, "interfaces", "saved")
	require.Empty(t, s.all("/tagged-vlans?interface_id="+port))
	page.Silent()
}
