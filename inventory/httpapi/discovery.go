package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Documents about devices for other programs (REFERENCE.md, 2.14).

// discoveryRoutes returns the routes of these documents, none without devices and locations.
func discoveryRoutes(schema *records.Schema) []route {
	r, found := schema.Named("devices")
	locations, placed := schema.Named("locations")
	if !found || !placed {
		return nil
	}
	_, devices := r.New().(*inventory.Device)
	if _, ok := locations.New().(*inventory.Location); !ok || !devices {
		return nil
	}
	access := permission(r.Access.Read.Or(records.Permission{Everyone: true}))
	routes := []route{
		{path: "/sd/prometheus", operation: targets()},
		{path: "/sd/ansible", operation: playbookHosts()},
		{path: "/sd/hosts", operation: hostsFile()},
		{path: "/sd/zone", operation: zoneFile()},
		{path: "/sd/ssh", operation: sshConfig()},
	}
	for i := range routes {
		rt := &routes[i]
		rt.method, rt.access, rt.resource, rt.does = http.MethodGet, ofAll(access), r, records.RouteList
		rt.doc.Tag, rt.doc.Filters = "discovery", r
		rt.doc.Parameters = append(rt.doc.Parameters, openapi.IfNoneMatch())
		for j := range rt.doc.Responses {
			rt.doc.Responses[j].Headers = []openapi.Header{openapi.ETag()}
		}
		rt.doc.Responses = append(rt.doc.Responses, notModified())
	}
	return routes
}

// discovery reads the devices for a document.
type discovery struct {
	*exporter
	out   *spool
	names *locationNames
}

// writing makes a part of a document. It writes to b and returns it.
type writing interface {
	// begin is called first, end last, and device for each device, in the order of their creation.
	begin(b []byte) []byte
	device(b []byte, d *inventory.Device, at *inventory.Location) []byte
	end(b []byte) []byte
	// kept returns about how many bytes are kept until the end.
	kept() int64
}

// discover responds with a document about all devices that match the filters of the request, which making
// returns. located says that the document has something of their locations.
func (c *call) discover(contentType string, making func() (doc writing, located bool, err error)) error {
	q, err := c.discovered()
	if err != nil {
		return err
	}
	doc, located, err := making()
	if err != nil {
		return err
	}
	leave, err := c.heavy.enterExport(c.heavyCaller())
	if err != nil {
		return err
	}
	defer leave()
	if err := httpx.Reserve(c.r.Context(), exportMemory); err != nil {
		return err
	}
	list := func(ctx context.Context, q *records.Query) (*records.Page, error) { return c.store.List(ctx, q) }
	d := &discovery{exporter: c.exportOf(q, list), out: newSpool()}
	if located {
		d.names = c.locationNames()
	}
	page, err := d.next()
	if err == nil {
		err = d.write(page, doc)
	}
	if err != nil {
		return err
	}
	return d.out.send(c, contentType)
}

// discovered returns the query for the devices that match the filters of the request.
func (c *call) discovered() (*records.Query, error) {
	for _, name := range []string{"page", "limit", "cursor", "count", "fields", "sortby"} {
		if c.query.Has(name) {
			return nil, badField(name, "is an unknown query parameter: the document has all devices that match; use filters and q")
		}
	}
	q, err := records.ParseQuery(c.current(c.route.resource), c.query, c.route.params()...)
	if err != nil {
		return nil, err
	}
	q.Page, q.Offset = 0, 0
	return q, c.below(q, c.query)
}

// write writes a page and those that follow it to the spool.
func (d *discovery) write(page *records.Page, doc writing) error {
	b := doc.begin(nil)
	reserved := int64(0)
	err := d.each(page, func(recs []records.Record) (int, error) {
		if err := httpx.Reserve(d.r.Context(), doc.kept()-reserved); err != nil {
			return 0, err
		}
		reserved = doc.kept()
		at, err := d.names.of(d.r.Context(), recs)
		if err != nil {
			return 0, err
		}
		for _, rec := range recs {
			device := rec.(*inventory.Device)
			var location *inventory.Location
			if device.LocationID != nil {
				location = at[*device.LocationID]
			}
			b = doc.device(b, device, location)
		}
		size := len(b)
		err = d.out.write(d.r.Context(), b)
		b = b[:0]
		return size, err
	})
	if err != nil {
		return err
	}
	return d.out.write(d.r.Context(), doc.end(b))
}

// locationNames reads the locations of devices.
type locationNames struct {
	*call
	locations *records.Resource
	found     map[string]*inventory.Location // by id; nil for one that the sender may not see
}

// locationNames returns nil if the sender may not list locations.
func (c *call) locationNames() *locationNames {
	r := records.Of[inventory.Location](c.schema)
	err := c.allows(ofAll(permission(r.Access.Read.Or(records.Permission{Everyone: true}))), "", r, records.RouteList)
	if c.permit(r, records.RouteList, err) != nil {
		return nil
	}
	return &locationNames{c, r, map[string]*inventory.Location{}}
}

const (
	// maxLookup is the number of ids of one query.
	maxLookup = 500
	// maxPlaceNames is the number of locations that are kept for the next page.
	maxPlaceNames = 1000
)

// of returns the locations of devices by their ids, none for nil.
func (p *locationNames) of(ctx context.Context, devices []records.Record) (map[string]*inventory.Location, error) {
	if p == nil {
		return nil, nil
	}
	if len(p.found) > maxPlaceNames {
		clear(p.found)
	}
	var ids []any
	read := func() error {
		id, _ := p.locations.Field("id")
		page, err := p.store.List(ctx, &records.Query{Resource: p.locations, Filters: []records.Filter{{Field: id, Op: records.In, Value: ids}}})
		if err != nil {
			return err
		}
		for _, rec := range page.Records {
			p.found[rec.Meta().ID] = rec.(*inventory.Location)
		}
		ids = nil
		return nil
	}
	for _, rec := range devices {
		id := rec.(*inventory.Device).LocationID
		if id == nil {
			continue
		}
		if _, known := p.found[*id]; known {
			continue
		}
		p.found[*id] = nil
		if ids = append(ids, *id); len(ids) == maxLookup {
			if err := read(); err != nil {
				return nil, err
			}
		}
	}
	if len(ids) == 0 {
		return p.found, nil
	}
	return p.found, read()
}

// spool keeps a document compressed until it is complete: then its tag is known, and no failure can follow.
type spool struct {
	zip      *gzip.Writer
	body     bytes.Buffer
	sum      hash.Hash
	size     int64 // of the document
	reserved int
}

// spoolStep is the memory that a spool reserves at once.
const spoolStep = 256 << 10

func newSpool() *spool {
	s := &spool{sum: sha256.New()}
	s.zip, _ = gzip.NewWriterLevel(&s.body, gzip.BestSpeed) // the level is valid
	return s
}

// write adds to the document, for the request of ctx.
func (s *spool) write(ctx context.Context, p []byte) error {
	s.size += int64(len(p))
	_, _ = s.sum.Write(p) // never fails, as the next
	_, _ = s.zip.Write(p)
	for s.body.Cap() > s.reserved {
		if err := httpx.Reserve(ctx, spoolStep); err != nil {
			return err
		}
		s.reserved += spoolStep
	}
	return nil
}

// send responds with the document, or with 304 if the client has it.
func (s *spool) send(c *call, contentType string) error {
	_ = s.zip.Close() // writes to memory
	tag := `"` + base64.RawURLEncoding.EncodeToString(s.sum.Sum(nil)[:16]) + `"`
	httpx.SetTag(c.w, tag)
	if httpx.NotModified(c.w, c.r, tag) {
		return nil
	}
	h := c.w.Header()
	h.Add("Vary", "Accept-Encoding")
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(time.Minute)) // not from the start of the request
	if httpx.AcceptsGzip(c.r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Etag", strings.TrimSuffix(tag, `"`)+`-gzip"`)
		httpx.WriteStream(c.w, http.StatusOK, contentType, int64(s.body.Len()), func(w io.Writer) error {
			_, err := s.body.WriteTo(w)
			return err
		})
		return nil
	}
	httpx.WriteStream(c.w, http.StatusOK, contentType, s.size, func(w io.Writer) error {
		if c.r.Method == http.MethodHead {
			return nil
		}
		unzip, err := gzip.NewReader(&s.body)
		if err != nil {
			return err
		}
		_, err = io.CopyN(w, unzip, s.size)
		return err
	})
	return nil
}

// isHostName reports whether a text is a host name of RFC 1123, section 2.1, and does not look like an
// address: labels of up to 63 letters, digits and hyphens, the last one not of digits alone.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isWord(label[i]) && label[i] != '-' {
				return false
			}
		}
		last = label
	}
	return strings.Trim(last, "0123456789") != ""
}

// isAddress reports whether a text is an IP address.
func isAddress(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Zone() == ""
}
