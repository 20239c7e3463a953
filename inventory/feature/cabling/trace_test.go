package cabling_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/feature/cabling"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

// traceOf is the response of a trace.
type traceOf struct {
	Status   string   `json:"status"`
	Complete bool     `json:"complete"`
	Start    int      `json:"start"`
	Ends     []string `json:"ends"`
	Hops     []object `json:"hops"`
}

// names returns the hostnames and names of the ports, and what connects them.
func (tr *traceOf) names() string {
	var all []string
	for _, hop := range tr.Hops {
		switch hop["type"] {
		case "cable":
			all = append(all, "--")
		case "link":
			all = append(all, "~~")
		default:
			all = append(all, fmt.Sprintf("%v:%v", hop["hostname"], hop["name"]))
		}
	}
	return strings.Join(all, " ") + " " + strings.Join(tr.Ends, ",")
}

func traced(t testing.TB, c *httpxtest.Client, kind, id string) *traceOf {
	t.Helper()
	var tr traceOf
	c.Send("GET", "/trace?"+kind+"_id="+id, nil).Want(200).JSON(&tr)
	return &tr
}

// TestTrace follows cables through two panels, and says where a path ends.
func TestTrace(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		_, id := g.Ports(g.Create("/devices", featuretest.Device("sw1"))["id"], "a", "b", "c", "d", "e")
		_, remote := g.Ports(g.Create("/devices", featuretest.Device("sw2"))["id"], "a", "b", "c")
		rear1, fronts1 := panel(g, "pp1", 4)
		rear2, fronts2 := panel(g, "pp2", 3)
		connect(c, "interface", id["a"], "front_port", fronts1[1]).Want(201)
		connect(c, "rear_port", rear2, "rear_port", rear1).Want(201)
		featuretest.Read(t, c.Send("POST", "/cables", object{"a_front_port_id": fronts2[1], "b_interface_id": remote["b"], "label": "L2"}).Want(201))
		connect(c, "interface", id["c"], "front_port", fronts1[2]).Want(201)
		connect(c, "interface", id["d"], "front_port", fronts1[3]).Want(201)

		want := "sw1:a -- pp1:pp1/2 pp1:pp1 -- pp2:pp2 pp2:pp2/2 -- sw2:b interface,interface"
		forward := traced(t, c, "interface", id["a"])
		if got := forward.names(); got != want || !forward.Complete || forward.Start != 0 {
			t.Errorf("the path is %s, %+v", got, forward)
		}
		if hop := forward.Hops[7]; hop["name"] != "L2" || hop["status"] != "connected" || forward.Hops[6]["position"] != 2.0 {
			t.Errorf("the hops are %v", forward.Hops)
		}
		back := traced(t, c, "interface", remote["b"])
		slices.Reverse(back.Hops)
		if fmt.Sprint(back.Hops) != fmt.Sprint(forward.Hops) || !back.Complete {
			t.Errorf("the way back is %s", back.names())
		}
		middle := traced(t, c, "front_port", fronts1[1])
		slices.Reverse(middle.Hops)
		if fmt.Sprint(middle.Hops) != fmt.Sprint(forward.Hops) || !middle.Complete || middle.Start != 6 {
			t.Errorf("from a panel it is %s, from %d", middle.names(), middle.Start)
		}
		for at, want := range map[string]string{
			"interface_id=" + id["b"]:     "sw1:b interface,open",
			"interface_id=" + id["c"]:     "sw1:c -- pp1:pp1/3 pp1:pp1 -- pp2:pp2 pp2:pp2/3 interface,open",
			"interface_id=" + id["d"]:     "sw1:d -- pp1:pp1/4 pp1:pp1 -- pp2:pp2 interface,unmapped",
			"rear_port_id=" + rear1:       "pp1:pp1 -- pp2:pp2 split,split",
			"front_port_id=" + fronts2[0]: "pp1:pp1/1 pp1:pp1 -- pp2:pp2 pp2:pp2/1 open,open",
			"front_port_id=" + fronts1[0]: "pp2:pp2/1 pp2:pp2 -- pp1:pp1 pp1:pp1/1 open,open",
		} {
			kind, port, _ := strings.Cut(at, "_id=")
			if got := traced(t, c, kind, port).names(); got != want {
				t.Errorf("%s: %s, want %s", at, got, want)
			}
		}
		// Terminations are ends: of a device, and of none.
		g.Create("/locations", object{"name": "HQ"})
		power := featuretest.Read(t, c.Send("POST", "/terminations", object{"device": "sw1", "kind": "power-port", "name": "PSU 1"}).Want(201))["id"].(string)
		circuit := featuretest.Read(t, c.Send("POST", "/terminations", object{"location": "HQ", "kind": "circuit", "name": "C-1 A"}).Want(201))["id"].(string)
		c.Send("POST", "/terminations", object{"kind": "circuit", "name": "C-1 A"}).WantError(409, "Termination exists")
		c.Send("POST", "/terminations", object{"device": "sw1", "location": "HQ", "name": "x"}).WantError(400, "location_id device_id")
		c.Send("POST", "/cables", object{"a_front_port_id": fronts2[0], "b_termination": object{"kind": "circuit", "name": "C-1 A", "device": nil}}).Want(201)
		connect(c, "interface", id["b"], "front_port", fronts1[0]).Want(201)
		connect(c, "termination", circuit, "termination", power).WantError(409, "C-1 cable")
		out := traced(t, c, "interface", id["b"])
		if got := out.names(); got != "sw1:b -- pp1:pp1/1 pp1:pp1 -- pp2:pp2 pp2:pp2/1 -- <nil>:C-1 A interface,termination" || !out.Complete {
			t.Errorf("the path to a circuit is %s", got)
		}
		in := traced(t, c, "termination", circuit)
		slices.Reverse(in.Hops)
		if fmt.Sprint(in.Hops) != fmt.Sprint(out.Hops) || !in.Complete {
			t.Errorf("the way back is %s", in.names())
		}
		if got := traced(t, c, "termination", power).names(); got != "sw1:PSU 1 termination,open" {
			t.Errorf("the path of a power port is %s", got)
		}

		link := g.Create("/links", object{"a_interface_id": id["e"], "b_interface_id": remote["c"]})
		for _, end := range []string{id["e"], remote["c"]} {
			if tr := traced(t, c, "interface", end); !tr.Complete || len(tr.Hops) != 3 || tr.Hops[1]["id"] != link["id"] {
				t.Errorf("the path of a link is %s", tr.names())
			}
		}
		g.Create("/links", object{"a_interface_id": id["e"], "b_interface_id": remote["a"]})
		for _, end := range []string{id["e"], remote["c"], remote["a"]} {
			if tr := traced(t, c, "interface", end); tr.Complete || len(tr.Hops) != 1 || tr.Ends[1] != "links" {
				t.Errorf("the path of one of several links is %s", tr.names())
			}
		}
		c.Send("GET", "/trace?interface_id="+featuretest.Unknown, nil).WantError(404, "Interface not found")
		c.Send("GET", "/trace", nil).WantError(400, "interface_id required termination_id")
		c.Send("GET", "/trace?rear_port_id="+rear1+"&interface_id="+id["a"], nil).WantError(400, "rear_port_id")
		c.Send("GET", "/trace?front_port_id=7", nil).WantError(400, "front_port_id UUID")
	}, cabling.New)
}

// TestTraceBounds: a path that returns to its own cable ends, and so does one that is too long.
func TestTraceBounds(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, cabling.New())
	c := g.As("root")
	rear, fronts := panel(g, "loop", 1)
	connect(c, "rear_port", rear, "front_port", fronts[0]).Want(201)
	if tr := traced(t, c, "rear_port", rear); tr.Complete || tr.Ends[0] != "loop" || tr.Ends[1] != "loop" {
		t.Errorf("the path of a loop is %s", tr.names())
	}
	wide, many := panel(g, "endless", 2) // each round adds a position
	connect(c, "rear_port", wide, "front_port", many[0]).Want(201)
	if tr := traced(t, c, "front_port", many[0]); tr.Complete || tr.Ends[0] != "limit" || len(tr.Hops) > 402 {
		t.Errorf("a path without an end has %d hops and ends with %v", len(tr.Hops), tr.Ends)
	}
	_, id := g.Ports(g.Create("/devices", featuretest.Device("sw1"))["id"], "a", "b")
	shared, breakout := panel(g, "breakout", 2)
	connect(c, "interface", id["a"], "rear_port", shared).Want(201)
	connect(c, "interface", id["b"], "front_port", breakout[1]).Want(201)
	if a, b := traced(t, c, "interface", id["a"]), traced(t, c, "interface", id["b"]); a.Complete || b.Complete || a.Ends[1] != "split" || b.Ends[1] != "shared" {
		t.Errorf("a breakout is %s, and back %s", a.names(), b.names())
	}
}

// TestTraceRights: a trace shows what its sender may list, at their locations.
func TestTraceRights(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, cabling.New())
	s := twoSites(g)
	rear, fronts := panelOf(g, s.device["id"], "pp1", 1)
	remoteRear, remoteFronts := panelOf(g, s.foreign["id"], "pp2", 1)
	root, limited := g.As("root"), g.As("editor")
	connect(root, "interface", s.port["id"].(string), "front_port", fronts[0]).Want(201)
	connect(root, "rear_port", rear, "rear_port", remoteRear).Want(201)
	connect(root, "interface", s.remote["id"].(string), "front_port", remoteFronts[0]).Want(201)
	if tr := traced(t, root, "interface", s.port["id"].(string)); !tr.Complete {
		t.Errorf("the path is %s", tr.names())
	}
	if tr := traced(t, limited, "interface", s.port["id"].(string)); tr.names() != "core-1:eth0 -- core-1:pp1/1 core-1:pp1 interface,open" {
		t.Errorf("the path at one location is %s", tr.names())
	}
	limited.Send("GET", "/trace?interface_id="+s.remote["id"].(string), nil).WantError(404, "Interface not found")

	trace := "/trace?interface_id=" + s.port["id"].(string)
	for scopes, status := range map[string]int{
		"*:read": 200, "interfaces:read cables:read": 403, "interfaces:read cables:read links:read front-ports:read rear-ports:read": 403,
		"interfaces:read cables:read links:read front-ports:read rear-ports:read terminations:read": 200,
	} {
		token := featuretest.Read(t, root.Send("POST", "/users/"+g.Users["root"].ID+"/tokens", object{
			"name": scopes, "scopes": strings.Fields(scopes), "current_password": featuretest.Password,
		}).Want(201))
		c := httpxtest.New(t, g.API)
		c.Header.Set("Authorization", "Bearer "+token["token"].(string))
		c.Send("GET", trace, nil).Want(status)
	}
}
