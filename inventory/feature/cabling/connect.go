package cabling

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of the page that connects ports.
const (
	maxSockets = 1000 // ports of a kind of a device
	maxNearby  = 12   // devices of the rack to choose from
)

// connectPage is the data of the page that connects ports of one device with ports of another one.
type connectPage struct {
	q                          *site.Request
	Crumbs                     []site.Link
	A, B                       panel
	Port                       string // the key of the port of A that the page is about; empty for all
	Typed                      string // the name of the device of B
	Nearby                     []site.Record
	Type, Color, Length, Label string // of the cables
	Key                        string // what is sent twice connects once
	Pairs                      []pair // to confirm
	Problems                   []string
}

// panel is a device with its ports.
type panel struct {
	ID, Name string
	Ports    []socket
}

// socket is a port that a cable may end at.
type socket struct {
	Resource, ID, Name, Kind string
	About                    string // its own label or description
	Taken                    string // the cable that it has and its far end; empty for a free one
	Linked                   string // the far end of a link without a cable
	Chosen                   bool
}

// pair is two ports that get a cable.
type pair struct {
	A, B  socket
	Label string
}

// SocketKey is the resource and the id of the port.
func (s socket) SocketKey() string { return s.Resource + "/" + s.ID }

// connectURL returns the address of the page that connects a port, or the ports of a device for the name "device".
func connectURL(q *site.Request, name, value string) string {
	return q.UI.URL("/connect") + "?" + url.Values{name: {value}}.Encode()
}

// showConnect is the page that connects ports, and handles its form.
func showConnect(q *site.Request) error {
	if !q.May("cables", records.RouteCreate) {
		return httpx.Errorf(http.StatusForbidden, "Your role may not create cables")
	}
	if err := q.R.ParseForm(); err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form: it must have the values of the page that it belongs to")
	}
	in, step := q.R.Form, q.R.PostForm.Get("step")
	c := &connectPage{
		q: q, Port: in.Get("port"), Typed: strings.TrimSpace(in.Get("to")), Type: in.Get("type"), Color: in.Get("color"), Length: strings.TrimSpace(in.Get("length")),
		Label: strings.TrimSpace(in.Get("label")), Key: cmp.Or(in.Get("key"), rand.Text()),
	}
	if err := c.read(in); err != nil {
		return err
	}
	if step == "connect" || step == "apply" {
		c.check()
		if err := c.connect(step == "apply" || len(c.Pairs) == 1); err != nil {
			return err
		}
		if len(c.Problems) == 0 && c.Pairs == nil {
			return q.Redirect("/r/" + c.back() + "?done=connected")
		}
	}
	status := http.StatusOK
	if len(c.Problems) > 0 {
		c.Pairs, status = nil, http.StatusUnprocessableEntity
	}
	return q.PageStatus(status, "connect.html", "Connect "+c.A.Name, c)
}

// back returns the resource and the id of the record that the page belongs to.
func (c *connectPage) back() string {
	if c.A.ID == "" {
		return c.Port
	}
	return "devices/" + c.A.ID
}

// read reads both devices with their ports.
func (c *connectPage) read(in url.Values) (err error) {
	c.A.ID = in.Get("device")
	if resource, id, ok := strings.Cut(c.Port, "/"); ok && portFields[resource] != "" {
		rec, _, err := c.q.One(resource, id)
		if err != nil {
			return err
		}
		c.A.ID, c.A.Name, c.Port = rec.Text("device_id"), rec.Text("name"), resource+"/"+rec.ID()
		if c.A.Ports, err = socketsOf(c.q, resource, []site.Record{rec}, []string{c.Port}); err != nil {
			return err
		}
	}
	device := site.Record{}
	if c.A.ID != "" || c.Port == "" {
		if device, _, err = c.q.One("devices", c.A.ID); err != nil {
			return err
		}
		c.A.ID, c.A.Name = device.ID(), strings.TrimSpace(device.Text("hostname")+" "+c.A.Name)
		c.Crumbs = []site.Link{{Label: "Devices", URL: c.q.ListURL("devices")}, {Label: device.Text("hostname"), URL: c.q.RecordURL("devices", device.ID())}}
	}
	if c.Port == "" {
		if c.A.Ports, err = sockets(c.q, c.A.ID, in["a"]); err != nil {
			return err
		}
	}
	if rack := device.Text("rack_id"); rack != "" {
		near, err := c.q.Some("devices", maxNearby, url.Values{"rack_id": {rack}, "id__ne": {device.ID()}, "sortby": {"hostname:asc"}, "fields": {"id,hostname"}})
		if err != nil {
			return err
		}
		c.Nearby = near.Data
	}
	if in.Get("near") != "" {
		in.Set("to.id", in.Get("near"))
		c.Typed, in["to.label"] = "", []string{""}
	}
	return c.choose(in.Get("to.id"), in.Get("to.label"), in["b"])
}

// choose reads the device at the other end: that with an id if it is what has been chosen, or else what has been typed.
func (c *connectPage) choose(id, label string, chosen []string) error {
	query := url.Values{"fields": {"id,hostname"}, "hostname": {c.Typed}}
	if records.ValidID(id) && c.Typed == label {
		query.Set("id__in", id)
		query.Del("hostname")
	} else if c.Typed == "" {
		return nil
	}
	found, err := c.q.Some("devices", 2, query)
	switch {
	case err != nil:
		return err
	case len(found.Data) == 0:
		c.Problems = append(c.Problems, fmt.Sprintf("No device is called %q", c.Typed))
		return nil
	case len(found.Data) > 1:
		c.Problems = append(c.Problems, fmt.Sprintf("Several devices are called %q: choose one of the list", c.Typed))
		return nil
	}
	c.B.ID, c.B.Name = found.Data[0].ID(), found.Data[0].Text("hostname")
	c.Typed = c.B.Name
	c.B.Ports, err = sockets(c.q, c.B.ID, chosen)
	return err
}

// sockets returns the ports of a device, of any kind.
func sockets(q *site.Request, device string, chosen []string) (all []socket, err error) {
	for _, resource := range portResources {
		if !q.MaySee(resource) {
			continue
		}
		recs, err := q.All(resource, url.Values{"device_id": {device}, "sortby": {"name:asc"}}, maxSockets)
		if err != nil {
			return nil, err
		}
		recs = slices.DeleteFunc(recs, func(rec site.Record) bool { return resource == "interfaces" && virtual(rec) })
		for part := range slices.Chunk(recs, records.MaxLimit) {
			some, err := socketsOf(q, resource, part, chosen)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// virtual reports whether an interface has no socket.
func virtual(rec site.Record) bool {
	return rec.Text("parent_id") != "" || slices.Contains([]string{"lag", "virtual", "bridge", "loopback"}, strings.ToLower(rec.Text("type")))
}

// socketsOf returns up to 100 ports of a resource.
func socketsOf(q *site.Request, resource string, recs []site.Record, chosen []string) ([]socket, error) {
	r, _ := q.Schema.Named(resource)
	far, err := connections(q, resource, site.IDs(recs))
	all := make([]socket, len(recs))
	for i, rec := range recs {
		s := socket{Resource: resource, ID: rec.ID(), Name: rec.Text("name"), Kind: r.Label, About: cmp.Or(rec.Text("label"), rec.Text("description"), rec.Text("type"))}
		for _, to := range far[s.ID] {
			end := strings.TrimSpace(to.Far.Device + " " + to.Far.Name)
			if to.Resource == "cables" {
				s.Taken = strings.TrimSuffix(to.Name()+" to "+end, " to ")
			} else {
				s.Linked = end
			}
		}
		s.Chosen = slices.Contains(chosen, s.SocketKey())
		all[i] = s
	}
	return all, err
}

// check sets the pairs of ports that were chosen, or what is wrong with them.
func (c *connectPage) check() {
	var chosen [2][]socket
	for i, p := range []*panel{&c.A, &c.B} {
		for _, s := range p.Ports {
			if s.Chosen {
				chosen[i] = append(chosen[i], s)
			}
			if s.Chosen && s.Taken != "" {
				c.Problems = append(c.Problems, fmt.Sprintf("%s %s has a cable already: %s", c.nameOf(i), s.Name, s.Taken))
			}
		}
	}
	switch a, b := len(chosen[0]), len(chosen[1]); {
	case len(c.Problems) > 0:
	case c.B.ID == "":
		c.Problems = append(c.Problems, "Choose the device at the other end")
	case a == 0 || b == 0:
		c.Problems = append(c.Problems, "Choose a port at each end")
	case a != b:
		c.Problems = append(c.Problems, fmt.Sprintf("Choose as many ports at each end: there are %d of %s and %d of %s", a, c.A.Name, b, c.B.Name))
	case a > records.MaxItems:
		c.Problems = append(c.Problems, fmt.Sprintf("Choose at most %d ports at once", records.MaxItems))
	default:
		for i := range a {
			c.Pairs = append(c.Pairs, pair{chosen[0][i], chosen[1][i], numbered(c.Label, i, a)})
		}
	}
}

// nameOf returns the name of the device of a side, empty for the port that is in the title of the page.
func (c *connectPage) nameOf(side int) string {
	if side == 1 {
		return c.B.Name
	}
	return strings.TrimSpace(strings.TrimSuffix(c.A.Name, c.portName()))
}

// portName returns the name of the port that the page is about.
func (c *connectPage) portName() string {
	if c.Port == "" {
		return ""
	}
	return c.A.Ports[0].Name
}

// numbered returns the label of one of several cables: its number at the end counts up.
func numbered(label string, i, of int) string {
	stem := strings.TrimRight(label, "0123456789")
	digits := label[len(stem):]
	first, err := strconv.Atoi(cmp.Or(digits, "1"))
	if label == "" || of == 1 || err != nil {
		return label
	}
	return fmt.Sprintf("%s%0*d", stem, len(digits), first+i)
}

// connect creates the cables in one transaction, or checks that this is possible. Pairs is nil if they were created.
func (c *connectPage) connect(apply bool) error {
	if len(c.Problems) > 0 {
		return nil
	}
	bodies := make([]map[string]any, len(c.Pairs))
	for i, p := range c.Pairs {
		body := map[string]any{"a_" + portFields[p.A.Resource] + "_id": p.A.ID, "b_" + portFields[p.B.Resource] + "_id": p.B.ID, "type": c.Type, "color": c.Color, "label": p.Label}
		if c.Length != "" {
			metres, err := strconv.ParseFloat(strings.Replace(c.Length, ",", ".", 1), 64)
			if err != nil {
				c.Problems = append(c.Problems, "The length is a number of metres, such as 2.5")
				return nil
			}
			body["length"] = metres
		}
		bodies[i] = body
	}
	call := &site.Call{Method: http.MethodPost, Path: "/cables", Body: bodies}
	var err error
	if apply {
		call.Key = c.Key
		_, err = c.q.Do(call, nil)
	} else {
		_, err = c.q.DryRun(call)
	}
	fault, refused := site.Refused(err)
	if !refused {
		if err == nil && apply {
			c.Pairs = nil
		}
		return err
	}
	for _, item := range fault.Items {
		p := c.Pairs[item.Index]
		why := item.Message
		if len(item.Errors) > 0 {
			why = item.Errors[0].Reason
		}
		c.Problems = append(c.Problems, fmt.Sprintf("%s %s and %s %s: %s", c.nameOf(0), p.A.Name, c.B.Name, p.B.Name, why))
	}
	if len(fault.Items) == 0 {
		c.Problems = append(c.Problems, fault.Message)
	}
	return nil
}
