package netmap

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxAbove bounds the locations above one.
const maxAbove = 20

// region is the kind of locations that are only boxes around others on a map of the whole network.
const region = "region"

// locations holds the locations that the sender sees, by their ids.
type locations map[string]*location

// location is a node of the tree of locations.
type location struct {
	ID, Name, Kind string
	Parent         string // empty for none, and for one that the sender does not see
	Devices        int    // here and within it
}

// readLocations reads the locations, none if the sender may not.
func readLocations(q *site.Request) (locations, error) {
	all := locations{}
	if !q.May("locations", records.RouteList) {
		return all, nil
	}
	recs, err := q.All("locations", url.Values{"fields": {"id,name,kind,parent_id"}}, maxRead)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		all[rec.ID()] = &location{ID: rec.ID(), Name: rec.Text("name"), Kind: rec.Text("kind"), Parent: rec.Text("parent_id")}
	}
	for _, p := range all {
		if all[p.Parent] == nil {
			p.Parent = ""
		}
	}
	return all, nil
}

// above returns a location and those above it, the innermost first.
func (t locations) above(id string) (chain []string) {
	for len(chain) < maxAbove && t[id] != nil {
		chain = append(chain, id)
		id = t[id].Parent
	}
	return chain
}

// count adds the devices of locations to those above them.
func (t locations) count(devices map[string]int64) {
	for id, n := range devices {
		for _, above := range t.above(id) {
			t[above].Devices += int(n)
		}
	}
}

// part returns the location directly within another one that a location is in or is; the other one for itself.
// Within none it is the outermost one that is no region.
func (t locations) part(id, within string) string {
	chain := t.above(id)
	if len(chain) == 0 {
		return id
	}
	if at := slices.Index(chain, within); at >= 0 {
		return chain[max(at-1, 0)]
	}
	at := len(chain) - 1
	for at > 0 && t[chain[at]].Kind == region {
		at--
	}
	return chain[at]
}

// split returns the location by which each node is grouped: that within the one that all nodes are in.
func (t locations) split(nodes []node, within string) (of []string, around string) {
	of = make([]string, len(nodes))
	for range maxAbove {
		same := true
		for i, n := range nodes {
			of[i] = t.part(n.Location, within)
			same = same && of[i] == of[0]
		}
		if len(nodes) == 0 || !same || of[0] == within || t[of[0]] == nil {
			break
		}
		within = of[0]
	}
	return of, within
}

// within reports whether some locations are floors and rooms only, between which most links of a building are.
func (t locations) within(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return t[id] == nil || t[id].Kind != "floor" && t[id].Kind != "room" })
}

// name returns the name of a location within another one, without the name of that.
func (t locations) name(id, within string) string {
	switch p := t[id]; {
	case p == nil && id == "":
		return "No location"
	case p == nil:
		return id
	case t[within] != nil && id != within:
		name := strings.TrimLeft(strings.TrimPrefix(p.Name, t[within].Name), " ,–-/")
		if name != "" && len(name) < 3 && p.Kind != "" {
			name = p.Kind + " " + name // building A
		}
		first, size := utf8.DecodeRuneInString(name)
		if size == 0 {
			return p.Name
		}
		return string(unicode.ToUpper(first)) + name[size:]
	default:
		return p.Name
	}
}

// choices returns the locations with devices for a filter, those within others after them. Of the innermost
// ones it returns only those around the chosen one.
func (t locations) choices(chosen string) (all []choice) {
	children := map[string][]*location{}
	for _, p := range t {
		children[p.Parent] = append(children[p.Parent], p)
	}
	open := t.above(chosen)
	var add func(parent string, depth, inner int)
	add = func(parent string, depth, inner int) {
		slices.SortFunc(children[parent], func(a, b *location) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
		for _, p := range children[parent] {
			if p.Devices == 0 && p.ID != chosen {
				continue
			}
			all = append(all, choice{Label: strings.Repeat("\u2003", depth) + t.name(p.ID, parent), Name: p.Name, Value: p.ID, Chosen: p.ID == chosen, Count: p.Devices})
			within := inner
			if p.Kind != region {
				within++
			}
			if depth < maxAbove && (within < 2 || slices.Contains(open, p.ID)) {
				add(p.ID, depth+1, within)
			}
		}
	}
	add("", 0, 0)
	return all
}

// collapse replaces the nodes of a graph by their locations, and its edges by those between these.
func (g *graph) collapse(t locations, of []string, within string) {
	at, number := map[string]string{}, map[string]int{}
	var nodes []node
	for i, n := range g.Nodes {
		at[n.ID] = of[i]
		if _, ok := number[of[i]]; !ok {
			number[of[i]] = len(nodes)
			place := node{ID: cmp.Or(of[i], "none"), Hostname: t.name(of[i], within), Tone: "good", Shape: "place"}
			above := t.above(of[i])
			if at := slices.IndexFunc(above, func(id string) bool { return t[id].Kind == region }); at >= 0 {
				place.Location = above[at]
			}
			nodes = append(nodes, place)
		}
		p := &nodes[number[of[i]]]
		p.Count++
		if n.State == "down" {
			p.Down++
			p.Tone = "warn"
		}
	}
	edges := map[string]*edge{}
	for _, e := range g.Edges {
		a, b := at[e.A.Device], at[e.B.Device]
		if a == b {
			continue
		}
		a, b = cmp.Or(min(a, b), "none"), cmp.Or(max(a, b), "none")
		between := edges[a+" "+b]
		if between == nil {
			between = &edge{ID: a + " " + b, A: end{Device: a}, B: end{Device: b}, State: "down"}
			edges[between.ID] = between
		}
		between.Count++
		if e.State != "down" {
			between.State = "up"
		}
	}
	g.Places, g.Nodes, g.Edges = true, nodes, nil
	for _, id := range slices.Sorted(maps.Keys(edges)) {
		g.Edges = append(g.Edges, *edges[id])
	}
	for i := range g.Nodes {
		g.Nodes[i].LocationName = g.Nodes[i].Hostname
	}
}
