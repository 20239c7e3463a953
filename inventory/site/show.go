package site

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Cell is a value of a record as a page shows it, by the template "cell".
type Cell struct {
	Field *records.Field
	Kind  string // text, mono, badge, link, number, time, tags, bool, long, object
	Text  string
	URL   string // of a link
	Items []string
	Rec   Record
}

// Empty reports whether there is no value.
func (c Cell) Empty() bool { return c.Text == "" && len(c.Items) == 0 }

// Cell returns how to show a field of a record. labels are those of RefLabels.
func (q *Request) Cell(f *records.Field, rec Record, labels map[string]string) Cell {
	c := Cell{Field: f, Kind: "text", Text: rec.Text(f.Name), Rec: rec}
	switch {
	case f.Ref != nil && c.Text == records.Hidden:
		c.Text = "not visible to you"
	case f.Ref != nil:
		if c.Text == "" || q.May(f.Ref.To, records.RouteGet) {
			c.Kind, c.URL = "link", q.RecordURL(f.Ref.To, c.Text)
		}
		c.Text = cmp.Or(labels[c.Text], short(c.Text))
	case f.Kind == records.List:
		c.Kind = "tags"
		if list, ok := rec[f.Name].([]any); ok {
			for _, e := range list {
				c.Items = append(c.Items, cmp.Or(labels[Text(e)], Text(e)))
			}
		}
	case f.Kind == records.Time:
		c.Kind = "time"
	case f.Kind == records.Int, f.Kind == records.Float:
		c.Kind = "number"
	case f.Kind == records.Bool:
		c.Kind, c.Text = "bool", BoolText(f, c.Text)
		if _, state := states[f.Name]; state {
			c.Kind = "badge"
		}
	case f.Kind == records.Object:
		c.Kind = "object"
	case strings.Contains(f.Name, "status"), f.Name == "severity", f.Name == "action": // a state, which has a colour
		c.Kind = "badge"
	case f.Format == "text":
		c.Kind = "long"
	case f.Format != "" && f.Format != "line" && f.Format != "enum":
		c.Kind = "mono"
	}
	return c
}

// RecordURL returns the address of the page of a record.
func (q *Request) RecordURL(resource, id string) string { return q.UI.URL("/r/" + resource + "/" + id) }

// ListURL returns the address of the list of a resource.
func (q *Request) ListURL(resource string) string { return q.UI.URL("/r/" + resource) }

// states are the words for fields that are states rather than true or not: for false and true.
var states = map[string][2]string{"inactive_status": {"active", "inactive"}}

// BoolText returns what people call the value of a boolean field, "true" or "false": yes, no, or a state such as active.
func BoolText(f *records.Field, value string) string {
	words, ok := states[f.Name]
	if !ok {
		words = [2]string{"no", "yes"}
	}
	switch value {
	case "false":
		return words[0]
	case "true":
		return words[1]
	}
	return value
}

// FieldLabel returns the name of a field for people.
func FieldLabel(f *records.Field) string {
	if _, state := states[f.Name]; state {
		return "Status"
	}
	if of, ok := strings.CutSuffix(f.Name, "_ids"); ok && f.Format == "uuid" && f.Label == "" {
		return humanize(of + "s")
	}
	return cmp.Or(f.Label, humanize(strings.TrimSuffix(f.Name, "_id")))
}

// words are those that are written in another way than in names of fields.
var words = map[string]string{
	"id": "ID", "ip": "IP", "mac": "MAC", "os": "OS", "mtu": "MTU", "vlan": "VLAN", "vrf": "VRF", "cidr": "CIDR", "rd": "RD", "dns": "DNS",
	"lag": "LAG", "cpu": "CPU", "totp": "second factor", "a": "A", "b": "B", "ifindex": "ifIndex", "lat": "latitude", "lon": "longitude", "ts": "time", "url": "URL", "github": "GitHub",
}

// humanize turns snake_case into words.
func humanize(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' })
	for i, p := range parts {
		parts[i] = cmp.Or(words[p], p)
		if stem, several := strings.CutSuffix(p, "s"); several && len(stem) > 2 && strings.ToUpper(stem) == words[stem] {
			parts[i] = words[stem] + "s"
		}
	}
	all := strings.Join(parts, " ")
	if all == "" {
		return name
	}
	return strings.ToUpper(all[:1]) + all[1:]
}

// Plural returns the name of the records of a resource in a sentence: "devices", "VLANs".
func Plural(r *records.Resource) string {
	return Lower(humanize(r.Name))
}

// Lower returns a label as it is within a sentence: "device type", "VLANs".
func Lower(label string) string {
	if len(label) > 1 && label[1:2] == strings.ToUpper(label[1:2]) {
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}

// Title returns the name of the records of a resource as a title: "Devices".
func Title(r *records.Resource) string { return humanize(r.Name) }

// Icon returns the icon of a resource.
func Icon(r *records.Resource) string { return cmp.Or(r.Show.Icon, "dot") }

// Nav returns the navigation: what the sender may see. Links of a group are below the first one of them.
func (q *Request) Nav() []ui.NavGroup {
	at := q.R.URL.Path
	link := func(label, path, icon string) ui.NavLink {
		return ui.NavLink{Label: label, URL: q.UI.URL(path), Icon: icon, Current: at == path || path != "/" && strings.HasPrefix(at, path+"/")}
	}
	type item struct {
		group string
		order int
		link  ui.NavLink
	}
	items, main, more := []item{{link: link("Home", "/", "home")}}, ui.NavGroup{}, ui.NavGroup{Title: "More"}
	for _, e := range q.Entries {
		if e.Show(q) {
			items = append(items, item{e.Group, e.Order, link(e.Label, e.Path, e.Icon)})
		}
	}
	for _, r := range q.Schema.Resources() {
		switch shown := link(Title(r), "/r/"+r.Name, Icon(r)); {
		case r.Internal || r.Show.Hidden || !q.May(r.Name, records.RouteList):
		case r.Show.Group == "":
			more.Links = append(more.Links, shown)
		default:
			items = append(items, item{r.Show.Group, r.Show.Order, shown})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.order, b.order) })
	first := map[string]int{} // by the group
	for _, i := range items {
		if n, ok := first[i.group]; ok && i.group != "" {
			main.Links[n].Below = append(main.Links[n].Below, i.link)
			continue
		}
		first[i.group] = len(main.Links)
		main.Links = append(main.Links, i.link)
	}
	if more.Links = append(more.Links, q.Extra...); len(more.Links) == 0 {
		return []ui.NavGroup{main}
	}
	return []ui.NavGroup{main, more}
}
