package ipam_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/ipam"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: who may create addresses and prefixes may ask for free ones.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, ipam.New(), map[string]featuretest.Rights{
		"POST /prefixes/{id}/next-address": {Who: "133+", Scope: "addresses:write"},
		"POST /prefixes/{id}/next-prefix":  {Who: "133+", Scope: "prefixes:write"},
		"GET /prefixes/{id}/usage":         {Who: "1+++", Scope: "prefixes:read addresses:read"},
	})
}

// TestPrefixes: prefixes and addresses are unique within their VRF, which can't be deleted while it has any.
func TestPrefixes(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		vrf := featuretest.Read(t, c.Send("POST", "/vrfs", object{"name": "red", "rd": "65000:1"}).Want(201))
		for _, p := range []string{"10.0.0.0/8", "10.2.0.0/16", "10.10.0.0/16", "10.2.3.0/24", "2001:db8::/32"} {
			g.Create("/prefixes", object{"prefix": p})
		}
		g.Create("/prefixes", object{"prefix": "10.2.0.0/16", "vrf": "red", "status": "container", "role": "transfer"})
		c.Send("POST", "/prefixes", object{"prefix": "10.2.0.0/16"}).WantError(409, "exists VRF")
		c.Send("POST", "/prefixes", object{"prefix": "10.2.0.0/16", "vrf_id": vrf["id"]}).WantError(409, "exists VRF")
		c.Send("POST", "/prefixes", object{"prefix": "10.2.0.1/16"}).WantError(400, "without host bits")
		for query, want := range map[string]string{
			"vrf_id__isnull=true&sortby=prefix:asc":                         "10.0.0.0/8 10.2.0.0/16 10.2.3.0/24 10.10.0.0/16 2001:db8::/32",
			"within=10.2.0.0/16&vrf_id__isnull=true&sortby=prefix:asc":      "10.2.0.0/16 10.2.3.0/24",
			"within=10.0.0.0/9&sortby=prefix:desc&vrf_id__isnull=true":      "10.10.0.0/16 10.2.3.0/24 10.2.0.0/16",
			"prefix__covers=10.2.3.4&sortby=prefix:asc&vrf_id__isnull=true": "10.0.0.0/8 10.2.0.0/16 10.2.3.0/24",
			"prefix__covers=10.2.0.0/16&vrf_id=" + vrf["id"].(string):       "10.2.0.0/16",
		} {
			var got []string
			for _, p := range featuretest.Data(t, c.Send("GET", "/prefixes?"+query, nil)) {
				got = append(got, p["prefix"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %v, want %s", query, got, want)
			}
		}
		c.Send("DELETE", featuretest.Path("/vrfs", vrf), nil).WantError(409, "VRF first")
		c.Send("DELETE", featuretest.Path("/vrfs", vrf)+"?dry_run=true", nil).Want(409)
		first := featuretest.Read(t, c.Send("POST", "/addresses", object{"address": "10.2.3.4/24"}).Want(201))
		c.Send("POST", "/addresses", object{"address": "10.2.3.4/32"}).WantError(409, "exists VRF")
		featuretest.Patch(c, featuretest.Path("/addresses", first), object{"vrf_id": vrf["id"]}, 200, "")
		g.Create("/addresses", object{"address": "10.2.3.4"})
		featuretest.Patch(c, featuretest.Path("/addresses", first), object{"vrf_id": nil}, 409, "exists VRF")
		for range 2 {
			g.Create("/addresses", object{"address": "192.0.2.1/32", "role": "anycast"})
		}
	}, ipam.New)
}

// TestNextFree: the next free address and prefix are the lowest ones, created in one request.
func TestNextFree(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		vrf := g.Create("/vrfs", object{"name": "red"})["id"]
		small := featuretest.Path("/prefixes", g.Create("/prefixes", object{"prefix": "192.0.2.8/29", "vrf_id": vrf}))
		g.Create("/addresses", object{"address": "192.0.2.10/32", "vrf_id": vrf})
		g.Create("/addresses", object{"address": "192.0.2.9/29"}) // in another table
		next := func(prefix string, body any, want string) {
			t.Helper()
			res := c.Send("POST", prefix, body).Want(201)
			rec := featuretest.Read(t, res)
			if got := fmt.Sprint(rec["address"], rec["prefix"]); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", prefix, got, want)
			}
			if location := res.Header().Get("Location"); featuretest.Read(t, c.Send("GET", location, nil).Want(200))["id"] != rec["id"] {
				t.Errorf("the Location is %s", location)
			}
		}
		c.Send("POST", small+"/next-address?dry_run=true", nil).Want(200)
		next(small+"/next-address", object{"dns_name": "a.example.org", "status": "reserved"}, "192.0.2.9/29")
		for _, n := range []int{11, 12, 13, 14} {
			next(small+"/next-address", object{}, fmt.Sprintf("192.0.2.%d/29", n))
		}
		c.Send("POST", small+"/next-address", nil).WantError(409, "192.0.2.8/29 free")
		c.Send("POST", small+"/next-address", object{"address": "192.0.2.9"}).WantError(400, "address prefix")
		c.Send("POST", "/prefixes/"+featuretest.Unknown+"/next-address", nil).WantError(404, "Prefix not found")

		// In the global table, addresses of interfaces and devices without records are used too.
		global := featuretest.Path("/prefixes", g.Create("/prefixes", object{"prefix": "198.51.100.0/30"}))
		sw := g.Create("/devices", object{"hostname": "sw1", "ip": "198.51.100.1"})["id"]
		next(global+"/next-address", nil, "198.51.100.2/30")
		c.Send("POST", global+"/next-address", nil).Want(409)
		point := featuretest.Path("/prefixes", g.Create("/prefixes", object{"prefix": "2001:db8::/127"}))
		g.Create("/interfaces", object{"device_id": sw, "name": "eth0", "ip_address": "2001:db8::/127"})
		next(point+"/next-address", nil, "2001:db8::1/127")

		space := featuretest.Path("/prefixes", g.Create("/prefixes", object{"prefix": "10.0.0.0/16", "vrf_id": vrf}))
		for _, p := range []string{"10.0.0.0/24", "10.0.0.128/25", "10.0.2.0/23"} {
			g.Create("/prefixes", object{"prefix": p, "vrf_id": vrf})
		}
		next(space+"/next-prefix?prefix_length=24", object{"description": "new"}, "10.0.1.0/24")
		next(space+"/next-prefix?prefix_length=22", nil, "10.0.4.0/22")
		next(space+"/next-prefix?prefix_length=24", nil, "10.0.8.0/24")
		c.Send("POST", space+"/next-prefix?prefix_length=16", nil).WantError(400, "prefix_length 32")
		c.Send("POST", space+"/next-prefix", nil).Want(400)
		c.Send("POST", featuretest.Path("/prefixes", g.Create("/prefixes", object{"prefix": "255.255.255.0/24", "vrf_id": vrf}))+"/next-prefix?prefix_length=25", nil).Want(201)
		if u := featuretest.Read(t, c.Send("GET", small+"/usage", nil)); u["addresses"] != 6.0 || u["hosts"] != "6" || u["percent"] != 100.0 || u["prefixes"] != 0.0 {
			t.Errorf("the usage is %v", u)
		}
		if u := featuretest.Read(t, c.Send("GET", space+"/usage", nil)); u["prefixes"] != 6.0 || u["hosts"] != "65534" {
			t.Errorf("the usage is %v", u)
		}
	}, ipam.New)
}

// TestPrimaryAddress: ip_address of an interface is its primary address.
func TestPrimaryAddress(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		sw := g.Create("/devices", featuretest.Device("sw1"))["id"]
		_, id := g.Ports(sw, "a", "b")
		at := func(port, want string) {
			t.Helper()
			if got := featuretest.Read(t, c.Send("GET", "/interfaces/"+id[port], nil))["ip_address"]; got != want {
				t.Errorf("the primary address of %s is %v, want %s", port, got, want)
			}
		}
		of := func(query, want string) {
			t.Helper()
			var got []string
			for _, a := range featuretest.Data(t, c.Send("GET", "/addresses?sortby=address:asc&"+query, nil)) {
				got = append(got, a["address"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s has the addresses %v, want %s", query, got, want)
			}
		}
		first := g.Create("/addresses", object{"address": "10.0.0.1/24", "interface_id": id["a"]})
		at("a", "10.0.0.1/24")
		if got := g.Along("address/" + first["id"].(string)); got != "update interface/"+id["a"] {
			t.Errorf("what went along is %q", got)
		}
		second := g.Create("/addresses", object{"address": "10.0.0.2/24", "interface": object{"device": "sw1", "name": "a"}})
		at("a", "10.0.0.1/24") // the first one stays
		featuretest.Patch(c, featuretest.Path("/addresses", first), object{"address": "10.0.0.3/24"}, 200, "")
		at("a", "10.0.0.3/24")
		featuretest.Patch(c, featuretest.Path("/addresses", first), object{"interface_id": id["b"]}, 200, "")
		at("a", "10.0.0.2/24")
		at("b", "10.0.0.3/24")
		c.Send("DELETE", featuretest.Path("/addresses", second), nil).Want(200)
		at("a", "")
		g.Create("/addresses", object{"address": "10.0.0.9/24", "interface_id": id["a"], "role": "vrrp"})
		at("a", "")

		// Who knows interfaces only changes the record along.
		featuretest.Patch(c, "/interfaces/"+id["b"], object{"ip_address": "10.0.0.4/24"}, 200, "")
		of("interface_id="+id["b"], "10.0.0.4/24")
		free := g.Create("/addresses", object{"address": "10.0.0.5/24"})
		featuretest.Patch(c, "/interfaces/"+id["b"], object{"ip_address": "10.0.0.5/24"}, 200, "")
		of("interface_id="+id["b"], "10.0.0.4/24 10.0.0.5/24")
		featuretest.Patch(c, "/interfaces/"+id["b"], object{"ip_address": "10.0.0.9/24"}, 200, "") // that of another one, as before there were records
		of("interface_id="+id["b"], "10.0.0.4/24 10.0.0.9/24")
		featuretest.Patch(c, "/interfaces/"+id["b"], object{"ip_address": ""}, 200, "")
		of("interface_id="+id["b"], "10.0.0.4/24")
		_ = free
		g.Create("/interfaces", object{"device_id": sw, "name": "c", "ip_address": "10.0.0.77/24"})
		of("address=10.0.0.77", "")
		c.Send("DELETE", "/interfaces/"+id["b"], nil).Want(200)
		of("interface_id__isnull=false", "10.0.0.9/24")
	}, ipam.New)
}
