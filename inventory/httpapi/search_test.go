package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// searched returns the results of a search as "resource label field match".
func searched(t testing.TB, c *httpxtest.Client, text string) (all []string) {
	t.Helper()
	var results struct {
		Status   string   `json:"status"`
		Complete bool     `json:"complete"`
		Data     []object `json:"data"`
	}
	c.Send("GET", "/search?q="+url.QueryEscape(text), nil).Want(200).JSON(&results)
	require.Equal(t, "success", results.Status)
	require.True(t, results.Complete)
	require.NotNil(t, results.Data)
	for _, o := range results.Data {
		require.Equal(t, o["id"], o["record"].(object)["id"])
		all = append(all, fmt.Sprint(o["resource"], " ", o["label"], " ", o["field"], " ", o["match"]))
	}
	return all
}

// searchable fills an inventory with records that searches find.
func searchable(g *harness) (first, second object) {
	first, second = g.create("/locations", with(location("Vienna 1"), "site_code", "VIE-1")), g.create("/locations", location("Graz"))
	sw1 := g.create("/devices", with(device("sw1"), "ip", "10.1.2.3", "serial_number", "FOC1234X", "location_id", first["id"], "tags", []any{"campus"}))
	g.create("/devices", with(device("sw10"), "ip", "10.1.9.9", "location_id", second["id"], "notes", "behind sw1 in Vienna"))
	eth0 := g.create("/interfaces", with(port(sw1["id"], "eth0"), "mac_address", "00:1a:2b:3c:4d:5e", "description", "uplink to sw10"))
	g.create("/addresses", object{"address": "10.1.2.3/24", "interface_id": eth0["id"]})
	g.create("/prefixes", object{"prefix": "10.0.0.0/8"})
	g.create("/prefixes", object{"prefix": "10.1.2.0/24", "description": "campus"})
	g.create("/prefixes", object{"prefix": "10.2.0.0/16"})
	g.create("/vlans", object{"vlan_id": 2077, "name": "Campus WLAN", "subnet_cidr": "10.77.0.0/24", "gateway_ip": "10.77.0.1"})
	g.create("/racks", object{"name": "A-12", "location_id": first["id"], "asset_tag": "AT-77"})
	return first, second
}

// TestSearch finds records by names, addresses and texts, the best matches first.
func TestSearch(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		searchable(g)
		c := g.on(t, "viewer")
		for text, want := range map[string][]string{
			"sw1": {
				"devices sw1 hostname exact", "devices sw10 hostname prefix",
			},
			"SW1":               {"devices sw1 hostname exact", "devices sw10 hostname prefix"},
			"FOC1234X":          {"devices sw1 serial_number exact"},
			"foc1234x":          {"devices sw1 serial_number exact"},
			"to sw1":            {"interfaces eth0 description text"},
			"FOC12":             {"devices sw1 serial_number prefix"},
			"1234":              {"devices sw1 serial_number text"},
			"001a.2b3c.4d5e":    {"interfaces eth0 mac_address exact"},
			"00-1A-2B-3C-4D-5E": {"interfaces eth0 mac_address exact"},
			"00:1a":             {"interfaces eth0 mac_address prefix"},
			"10.1.2.3": {
				"devices sw1 ip exact", "interfaces eth0 ip_address exact", "addresses 10.1.2.3/24 address exact",
				"prefixes 10.1.2.0/24 prefix covers", "prefixes 10.0.0.0/8 prefix covers",
			},
			"10.1.0.0/16": {
				"prefixes 10.0.0.0/8 prefix covers", "devices sw1 ip within", "devices sw10 ip within",
				"interfaces eth0 ip_address within", "prefixes 10.1.2.0/24 prefix within", "addresses 10.1.2.3/24 address within",
			},
			"10.2.0.0/16":  {"prefixes 10.2.0.0/16 prefix exact", "prefixes 10.0.0.0/8 prefix covers"},
			"10.77.0.1":    {"vlans Campus WLAN gateway_ip exact", "prefixes 10.0.0.0/8 prefix covers"},
			"10.77.0.0/24": {"vlans Campus WLAN subnet_cidr exact", "prefixes 10.0.0.0/8 prefix covers"},
			"VIE-1":        {"locations Vienna 1 site_code exact"},
			"vie-1":        {"locations Vienna 1 site_code exact"},
			"vienna":       {"locations Vienna 1 name prefix", "devices sw10 notes text"},
			"campus": {
				"devices sw1 tags exact", "prefixes 10.1.2.0/24 description exact", "vlans Campus WLAN name prefix",
			},
			"2077":         {"vlans Campus WLAN vlan_id exact"},
			"at-77":        {"racks A-12 asset_tag exact"},
			"A":            {"racks A-12 name prefix"},
			"no such text": nil,
			"root":         nil, // a user
		} {
			require.Equal(t, want, searched(t, c, text), text)
		}
		id := data(t, c.Send("GET", "/racks", nil))[0]["id"].(string)
		require.Equal(t, []string{"racks A-12 id exact"}, searched(t, c, strings.ToUpper(id)))
		one := read(t, c.Send("GET", "/search?q=sw1&limit=1", nil).Want(200))["data"].([]any)
		require.Len(t, one, 1)
		require.Equal(t, "sw1", one[0].(object)["label"])
		for _, query := range []string{"", "?q=", "?q=%20", "?q=a%00b", "?q=" + strings.Repeat("x", 201), "?q=a&limit=0", "?q=a&limit=101", "?q=a&by=x"} {
			c.Send("GET", "/search"+query, nil).Want(400)
		}
	})
}

// TestSearchRights: a search finds what the sender may list only.
func TestSearchRights(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	first, _ := searchable(g)
	g.withToken(t, g.newToken(t, "root", "users:read")["token"]).Send("GET", "/search?q=sw1", nil).WantError(403, "Forbidden")
	c := g.withToken(t, g.newToken(t, "root", "devices:read", "users:read")["token"])
	require.Equal(t, []string{"devices sw1 hostname exact", "devices sw10 hostname prefix"}, searched(t, c, "sw1"))
	require.Empty(t, searched(t, c, "second"))

	g.as("root").Send("PATCH", "/users/"+g.users["viewer"].ID, object{"location_ids": []any{first["id"]}}).Want(200)
	limited := g.as("viewer")
	require.Equal(t, []string{"devices sw1 hostname exact"}, searched(t, limited, "sw1"))
	require.Equal(t, []string{
		"devices sw1 ip exact", "interfaces eth0 ip_address exact", "addresses 10.1.2.3/24 address exact",
	}, searched(t, limited, "10.1.2.3"))
	require.Equal(t, []string{"locations Vienna 1 site_code exact"}, searched(t, limited, "VIE-1"))
	require.Empty(t, searched(t, limited, "Graz"))
}
