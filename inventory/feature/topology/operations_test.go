package topology_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/topology"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

type object = featuretest.Object

func start(t testing.TB, store records.Store) *featuretest.API {
	t.Helper()
	return featuretest.New(t, store, topology.New())
}

// TestRights: everybody may ask, with the right to list devices, interfaces and links.
func TestRights(t *testing.T) {
	everyone := featuretest.Rights{Who: "1+++"}
	featuretest.CheckRights(t, topology.New(), map[string]featuretest.Rights{
		"GET /topology": everyone, "GET /topology/path": everyone, "GET /topology/failures": everyone, "GET /devices/{id}/neighbors": everyone,
	})
}

// server is the PostgreSQL server of all tests.
var server postgrestest.Shared

func TestMain(m *testing.M) { os.Exit(server.Main(m).Run()) }

// databases runs a test with each database, which open opens again each time.
func databases(t *testing.T, test func(t *testing.T, open func() records.Store)) {
	t.Helper()
	t.Parallel()
	opened := func(t *testing.T, store *sqlstore.Store, err error) records.Store {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		scaletest.Unraced(t)
		path := filepath.Join(t.TempDir(), "inventory.db")
		test(t, func() records.Store {
			store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
			return opened(t, store, err)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("the test without -short has it")
		}
		url := server.Server(t).Database(t)
		test(t, func() records.Store {
			store, err := postgres.Open(t.Context(), url, inventory.Schema(), nil)
			return opened(t, store, err)
		})
	})
}

// everyStore runs a test with a store in memory and with each database.
func everyStore(t *testing.T, test func(t *testing.T, g *featuretest.API)) {
	t.Helper()
	databases(t, func(t *testing.T, open func() records.Store) { test(t, start(t, open())) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, start(t, nil))
	})
}

// cabled is a network: a square a, b, c, d; e linked to d; and two links between e and f.
//
//	a - b
//	|   |
//	d - c
//	|
//	e = f
type cabled struct {
	g           *featuretest.API
	here, there object            // locations: a, b, c and d are here, e and f there
	devices     map[string]object // by hostname
	links       map[string]object // by their ends: "ab", "ef", "ef2"
	names       map[string]string // of devices and links, by id
}

func cable(g *featuretest.API) *cabled {
	n := &cabled{g: g, devices: map[string]object{}, links: map[string]object{}, names: map[string]string{}}
	n.here, n.there = g.Create("/locations", object{"name": "here"}), g.Create("/locations", object{"name": "there"})
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		site := n.here
		if name > "d" {
			site = n.there
		}
		n.devices[name] = g.Create("/devices", object{"hostname": name, "location_id": site["id"]})
		n.names[n.devices[name]["id"].(string)] = name
	}
	for _, link := range []string{"ab", "bc", "cd", "da", "de", "ef", "ef2"} {
		var ends []any
		for _, name := range []string{link[:1], link[1:2]} {
			ends = append(ends, g.Create("/interfaces", object{"device_id": n.devices[name]["id"], "name": "to " + link})["id"])
		}
		n.links[link] = g.Create("/links", object{"a_interface_id": ends[0], "b_interface_id": ends[1]})
		n.names[n.links[link]["id"].(string)] = link
	}
	return n
}

// show returns the nodes of a response with their depth, and the edges, as names.
func (n *cabled) show(t *testing.T, doc object) string {
	t.Helper()
	var nodes, edges []string
	for _, x := range doc["nodes"].([]any) {
		node := x.(object)
		text := n.names[node["id"].(string)]
		if text != node["hostname"] {
			t.Errorf("%s has the hostname %v", text, node["hostname"])
		}
		if depth, ok := node["depth"]; ok {
			text += fmt.Sprint(depth)
		}
		if node["state"] != "up" {
			text += "!"
		}
		nodes = append(nodes, text)
	}
	for _, x := range doc["edges"].([]any) {
		edge := x.(object)
		text := n.names[edge["id"].(string)]
		for _, end := range []string{"a", "b"} {
			at := edge[end].(object)
			if name := n.names[at["device_id"].(string)]; !strings.Contains(text, name) || at["interface"] != "to "+text || at["interface_id"] == "" {
				t.Errorf("%s has an end %v at %s", text, at, name)
			}
		}
		if edge["state"] != "up" {
			text += "!"
		}
		edges = append(edges, text)
	}
	return strings.Join(nodes, " ") + ", " + strings.Join(edges, " ")
}

func (n *cabled) id(name string) string {
	if d, ok := n.devices[name]; ok {
		return d["id"].(string)
	}
	return n.links[name]["id"].(string)
}

// want requires a part of the network.
func (n *cabled) want(t *testing.T, c *httpxtest.Client, path, want string) {
	t.Helper()
	doc := featuretest.Read(t, c.Send("GET", path, nil).Want(200))
	if got := n.show(t, doc); got != want || doc["truncated"] != false {
		t.Errorf("%s: %s (truncated: %v), want %s", path, got, doc["truncated"], want)
	}
}

// paths requires paths, each as its nodes and edges; they may be in any order.
func (n *cabled) paths(t *testing.T, c *httpxtest.Client, from, to, query string, want ...string) {
	t.Helper()
	var got []string
	doc := featuretest.Read(t, c.Send("GET", "/topology/path?from="+n.id(from)+"&to="+n.id(to)+query, nil).Want(200))
	for _, p := range doc["paths"].([]any) {
		got = append(got, n.show(t, p.(object)))
		if p.(object)["hops"] != float64(len(p.(object)["edges"].([]any))) {
			t.Errorf("the hops of %v", p)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the paths from %s to %s%s are %q, want %q", from, to, query, got, want)
	}
}

// failures returns the single points of failure, each with what it cuts off.
func (n *cabled) failures(t *testing.T, c *httpxtest.Client, query string) string {
	t.Helper()
	var got []string
	for _, x := range featuretest.Read(t, c.Send("GET", "/topology/failures"+query, nil).Want(200))["failures"].([]any) {
		f := x.(object)
		lost, ok := f["device"].(object)
		if !ok {
			lost = f["link"].(object)
		}
		var cut []string
		for _, x := range f["examples"].([]any) {
			cut = append(cut, x.(object)["hostname"].(string))
		}
		slices.Sort(cut)
		if f["cut_off"] != float64(len(cut)) {
			t.Errorf("the failure %v cuts off %d", f, len(cut))
		}
		got = append(got, n.names[lost["id"].(string)]+":"+strings.Join(cut, ""))
	}
	return strings.Join(got, " ")
}

// TestTopology: the graph of a location, neighbours, paths and failures, also while something is down.
func TestTopology(t *testing.T) {
	everyStore(t, func(t *testing.T, g *featuretest.API) {
		n := cable(g)
		c, root := g.As("viewer"), g.As("root")
		const all = "a b c d e f, ab bc cd da de ef ef2"
		n.want(t, c, "/topology", all)
		n.want(t, c, "/topology?location_id="+n.there["id"].(string), "e0 f0, ef ef2")
		n.want(t, c, "/topology?depth=1&location_id="+strings.ToUpper(n.there["id"].(string)), "e0 f0 d1, de ef ef2")
		n.want(t, c, "/devices/"+n.id("e")+"/neighbors", "e0 d1 f1, de ef ef2")
		n.want(t, c, "/devices/"+n.id("e")+"/neighbors?depth=2", "e0 d1 f1 c2 a2, cd da de ef ef2")

		n.paths(t, c, "e", "b", "", "e d a b, de da ab", "e d c b, de cd bc")
		n.paths(t, c, "a", "c", "&disjoint=node", "a b c, ab bc", "a d c, da cd")
		n.paths(t, c, "e", "f", "&disjoint=link", "e f, ef", "e f, ef2")
		n.paths(t, c, "a", "f", "&disjoint=node&limit=2", "a d e f, da de ef")
		if got := n.failures(t, c, ""); got != "d:ef de:ef e:f" {
			t.Errorf("the failures are %s", got)
		}

		root.Send("PATCH", "/links/"+n.id("cd"), object{"status": "down"}).Want(200)
		root.Send("PATCH", "/interfaces/"+n.links["ef2"]["b_interface_id"].(string), object{"oper_status": "dormant"}).Want(200)
		n.want(t, c, "/topology", "a b c d e f, ab bc cd! da de ef ef2!")
		n.want(t, c, "/topology?state=up", "a b c d e f, ab bc da de ef")
		n.paths(t, c, "d", "c", "", "d a b c, da ab bc")
		n.paths(t, c, "d", "c", "&state=any", "d c, cd!")
		if got := n.failures(t, c, ""); got != "da:def a:bc d:ef ab:bc de:ef b:c e:f bc:c ef:f" {
			t.Errorf("with something down the failures are %s", got)
		}
		if got := n.failures(t, c, "?state=any&limit=1"); got != "d:ef" {
			t.Errorf("the first failure of any is %s", got)
		}
		root.Send("PATCH", "/devices/"+n.id("a"), object{"status": "offline"}).Want(200)
		n.paths(t, c, "d", "c", "")
		n.want(t, c, "/topology?state=up", "b c d e f, bc de ef")
		n.want(t, c, "/devices/"+n.id("a")+"/neighbors", "a0! b1 d1, ab da")

		root.Send("DELETE", "/devices/"+n.id("a"), nil).Want(200)
		root.Send("DELETE", "/links/"+n.id("de"), nil).Want(200)
		n.want(t, c, "/topology", "b c d e f, bc cd! ef ef2!")
	})
}

// countedLinks is a store that counts how often all links are read.
type countedLinks struct {
	*records.MemStore
	reads atomic.Int32
}

func (s *countedLinks) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if q.Resource.Name == "links" && len(q.Filters) == 0 {
		s.reads.Add(1)
	}
	return s.MemStore.List(ctx, q)
}

// TestNetworkIsRemembered: the network is read again after a change of it only.
func TestNetworkIsRemembered(t *testing.T) {
	t.Parallel()
	store := &countedLinks{MemStore: records.NewMemStore(inventory.Schema())}
	g := start(t, store)
	n := cable(g)
	viewer, root := g.As("viewer"), g.As("root")
	ask := func(what string, want int32) {
		t.Helper()
		store.reads.Store(0)
		viewer.Send("GET", "/topology", nil).Want(200)
		if got := store.reads.Load(); got != want {
			t.Errorf("after %s the links are read %d times, want %d", what, got, want)
		}
	}
	ask("the start", 1)
	ask("nothing", 0)
	root.Send("PATCH", "/devices/"+n.id("a"), object{"notes": "x"}).Want(200)
	g.Create("/interfaces", object{"device_id": n.devices["a"]["id"], "name": "spare"})
	root.Send("PATCH", "/links/"+n.id("ab"), object{"type": "copper"}).Want(200)
	ask("changes of other fields", 0)
	for _, change := range [][2]any{
		{"/devices/" + n.id("a"), object{"hostname": "z"}},
		{"/devices/" + n.id("a"), object{"location_id": n.there["id"]}},
		{"/interfaces/" + n.links["ab"]["a_interface_id"].(string), object{"oper_status": "down"}},
		{"/links/" + n.id("ab"), object{"status": "down"}},
	} {
		root.Send("PATCH", change[0].(string), change[1]).Want(200)
		ask(change[0].(string), 1)
		ask("nothing", 0)
	}
	root.Send("DELETE", "/interfaces/"+n.links["ab"]["a_interface_id"].(string), nil).Want(200)
	ask("the deletion of an interface with a link", 1)
	root.Send("DELETE", "/locations/"+n.there["id"].(string), nil).Want(200)
	ask("the deletion of a location", 1)
	for i := range 1001 {
		root.Send("PATCH", "/devices/"+n.id("b"), object{"notes": fmt.Sprint(i)}).Want(200)
	}
	ask("many changes", 1)
}

// TestNetworkOfOtherProcess: what another process has changed is seen at once.
func TestNetworkOfOtherProcess(t *testing.T) {
	databases(t, func(t *testing.T, open func() records.Store) {
		g := start(t, open())
		h := start(t, open())
		n := cable(g)
		c := h.As("viewer")
		n.want(t, c, "/devices/"+n.id("a")+"/neighbors", "a0 b1 d1, ab da")
		g.As("root").Send("DELETE", "/links/"+n.id("ab"), nil).Want(200)
		n.want(t, c, "/devices/"+n.id("a")+"/neighbors", "a0 d1, da")
		g.As("root").Send("DELETE", "/devices/"+n.id("d"), nil).Want(200)
		n.want(t, c, "/devices/"+n.id("a")+"/neighbors", "a0, ")
	})
}

// TestTopologyBounds: the response says what it left out, and invalid parameters are refused.
func TestTopologyBounds(t *testing.T) {
	t.Parallel()
	g := start(t, nil)
	n := cable(g)
	c := g.As("viewer")
	doc := featuretest.Read(t, c.Send("GET", "/devices/"+n.id("d")+"/neighbors?depth=3&limit=2", nil).Want(200))
	if n := len(doc["nodes"].([]any)); n != 2 || doc["truncated"] != true || doc["total_nodes"] != 6.0 || doc["total_edges"] != 7.0 || len(doc["edges"].([]any)) != 1 {
		t.Errorf("a limited response is %v", doc)
	}
	for query, want := range map[string]bool{"limit=1": true, "limit=2": false} {
		doc := featuretest.Read(t, c.Send("GET", "/topology/path?disjoint=link&from="+n.id("a")+"&to="+n.id("c")+"&"+query, nil).Want(200))
		if doc["truncated"] != want {
			t.Errorf("%s: %v", query, doc)
		}
	}
	if doc := featuretest.Read(t, c.Send("GET", "/topology/failures?limit=1", nil).Want(200)); doc["truncated"] != true || doc["total"] != 3.0 {
		t.Errorf("limited failures are %v", doc)
	}
	neighbors := "/devices/" + n.id("a") + "/neighbors"
	between := "/topology/path?from=" + n.id("a") + "&to="
	for path, want := range map[string]string{
		"/topology?depth=1":                 "depth location_id",
		"/topology?location_id=x":           "location_id id",
		"/topology?limit=10001":             "limit 10000",
		"/topology?state=down":              "state any",
		"/topology?loc=1":                   "loc unknown depth",
		neighbors + "?depth=0":              "depth 32",
		neighbors + "?depth=33":             "depth 32",
		between:                             "to id",
		between + n.id("a"):                 "to inconsistent",
		between + n.id("b") + "&disjoint=x": "disjoint node",
		"/topology/path":                    "from id",
		"/topology/failures?limit=1001":     "limit 1000",
	} {
		c.Send("GET", path, nil).WantError(400, want)
	}
	c.Send("GET", between+"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", nil).WantError(404, "Device not found")
	c.Send("GET", "/devices/"+"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"+"/neighbors", nil).WantError(404, "Device not found")
	c.Send("GET", "/topology?location_id="+"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", nil).WantError(404, "Location not found")
}

// TestTopologyRights: what a sender may not see is not in the network, and without the right to list
// devices, interfaces and links there is none.
func TestTopologyRights(t *testing.T) {
	everyStore(t, func(t *testing.T, g *featuretest.API) {
		n := cable(g)
		viewer := "/users/" + g.Users["viewer"].ID
		g.As("root").Send("PATCH", viewer, object{"location_ids": []any{n.there["id"]}}).Want(200)
		c := g.As("viewer")
		n.want(t, c, "/topology", "e f, ef ef2")
		n.want(t, c, "/topology?depth=9&location_id="+n.there["id"].(string), "e0 f0, ef ef2")
		n.want(t, c, "/devices/"+n.id("e")+"/neighbors?depth=9", "e0 f1, ef ef2")
		if got := n.failures(t, c, ""); got != "" {
			t.Errorf("the failures of a part are %s", got)
		}
		c.Send("GET", "/topology?location_id="+n.here["id"].(string), nil).WantError(404, "Location not found")
		c.Send("GET", "/devices/"+n.id("d")+"/neighbors", nil).WantError(404, "Device not found")
		for _, ends := range [][2]string{{"d", "e"}, {"e", "d"}} {
			c.Send("GET", "/topology/path?from="+n.id(ends[0])+"&to="+n.id(ends[1]), nil).WantError(404, "Device not found")
		}
		g.As("root").Send("PATCH", viewer, object{"location_ids": []any{n.here["id"]}}).Want(200)
		n.want(t, g.As("viewer"), "/topology", "a b c d, ab bc cd da")

		paths := []string{"/topology", "/topology/failures", "/topology/path?from=" + n.id("a") + "&to=" + n.id("b"), "/devices/" + n.id("a") + "/neighbors"}
		for _, scopes := range [][]string{{"devices:read", "links:read"}, {"devices:read", "interfaces:read"}, {"links:read", "interfaces:read"}} {
			limited := g.WithScopes(scopes...)
			for _, path := range paths {
				limited.Send("GET", path, nil).WantError(403, "Forbidden")
			}
		}
		all := g.WithScopes("devices:read", "interfaces:read", "links:read")
		for _, path := range paths {
			all.Send("GET", path, nil).Want(200)
		}
		all.Send("GET", "/topology?location_id="+n.here["id"].(string), nil).WantError(403, "Forbidden")
	})
}
