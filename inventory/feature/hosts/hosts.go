// Package hosts is the feature of documents about devices for other programs: targets of Prometheus, a dynamic inventory
// of Ansible, a hosts file, DNS zones, reservations of DHCP servers and a configuration of ssh (REFERENCE.md, 2.14).
package hosts

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
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	f := &feature.Feature{
		Needs:      map[string]records.Record{"devices": &inventory.Device{}, "locations": &inventory.Location{}, "interfaces": &inventory.Interface{}, "prefixes": &inventory.Prefix{}},
		Tags:       map[string]string{"discovery": "Devices in the formats of other programs."},
		Operations: []feature.Operation{targets(), playbookHosts(), hostsFile(), zoneFile(), keaConfig(), dnsmasqConfig(), sshConfig()},
		Reserved:   []string{"address", "domain", "family", "labels", "location_name", "location_site_code", "origin", "port", "ttl"},
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		op.Method, op.Resource, op.Does = http.MethodGet, "devices", records.RouteList
		op.Tag = "discovery"
		op.Describe = func(schema *records.Schema, doc *openapi.Operation) {
			doc.Filters = records.Of[inventory.Device](schema)
		}
		op.Parameters = append(op.Parameters, openapi.IfNoneMatch())
		op.Responses[0].Headers = []openapi.Header{openapi.ETag()}
		op.Responses = append(op.Responses, openapi.Response{Status: http.StatusNotModified})
	}
	f.Pages = pages(f.Operations)
	return f
}

// document makes a part of a document. It writes to b and returns it.
type document interface {
	// begin is called first, end last, and device for each device, in the order of their creation.
	begin(b []byte) []byte
	device(b []byte, d *inventory.Device, at *inventory.Location) []byte
	end(b []byte) []byte
	// kept returns about how many bytes are kept until the end.
	kept() int64
}

// preparing is a document that reads more about devices before they come.
type preparing interface {
	prepare(ctx context.Context, devices []records.Record) error
}

// serve returns the handler of an operation, which responds with a document about all devices that match the filters
// of the request. located says that it has something of their locations.
func serve(contentType string, making func(r *feature.Request) (doc document, located bool, err error)) func(context.Context, *feature.Request) (*feature.Response, error) {
	return func(ctx context.Context, r *feature.Request) (*feature.Response, error) {
		for _, name := range []string{"page", "limit", "cursor", "count", "fields", "sortby"} {
			if r.Query.Has(name) {
				return nil, records.Refuse(name, records.Unknown("query parameter", "the document has all devices that match; use filters and q"))
			}
		}
		q, err := r.Inventory.Query(records.Of[inventory.Device](r.Inventory.Records().Schema()))
		if err != nil {
			return nil, err
		}
		q.Page, q.Offset = 0, 0
		doc, located, err := making(r)
		if err != nil {
			return nil, err
		}
		out := &spool{sum: sha256.New()}
		out.zip, _ = gzip.NewWriterLevel(&out.body, gzip.BestSpeed) // the level is valid
		if err := write(ctx, r, q, out, doc, located); err != nil {
			return nil, err
		}
		return &feature.Response{Send: func(w http.ResponseWriter, r *http.Request) error { return out.send(w, r, contentType) }}, nil
	}
}

// write writes a document to the spool.
func write(ctx context.Context, r *feature.Request, q *records.Query, out *spool, doc document, located bool) error {
	var names *locationNames // nil without the right to list locations
	locations := records.Of[inventory.Location](r.Inventory.Records().Schema())
	if located && r.Inventory.May(locations, records.RouteList) == nil {
		names = &locationNames{r.Inventory.Records(), locations, map[string]*inventory.Location{}}
	}
	b := doc.begin(nil)
	reserved := int64(0)
	err := r.Inventory.Export(ctx, q, func(ctx context.Context, recs []records.Record) (int, error) {
		if err := httpx.Reserve(ctx, doc.kept()-reserved); err != nil {
			return 0, err
		}
		reserved = doc.kept()
		at, err := names.of(ctx, recs)
		if of, ok := doc.(preparing); ok && err == nil {
			err = of.prepare(ctx, recs)
		}
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
		err = out.write(ctx, b)
		b = b[:0]
		return size, err
	})
	if err != nil {
		return err
	}
	return out.write(ctx, doc.end(b))
}

// locationNames reads the locations of devices.
type locationNames struct {
	from      records.Reader
	locations *records.Resource
	found     map[string]*inventory.Location // by id; nil for one that the sender may not see
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
	var ids []string
	for _, rec := range devices {
		if id := rec.(*inventory.Device).LocationID; id != nil {
			if _, known := p.found[*id]; !known {
				p.found[*id], ids = nil, append(ids, *id)
			}
		}
	}
	for some := range slices.Chunk(ids, maxLookup) {
		found, err := records.Select[inventory.Location](ctx, p.from, (&records.Query{Resource: p.locations}).WhereIn("id", some))
		if err != nil {
			return nil, err
		}
		for _, location := range found {
			p.found[location.ID] = location
		}
	}
	return p.found, nil
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
func (s *spool) send(w http.ResponseWriter, r *http.Request, contentType string) error {
	_ = s.zip.Close() // writes to memory
	tag := `"` + base64.RawURLEncoding.EncodeToString(s.sum.Sum(nil)[:16]) + `"`
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // not from the start of the request
	if httpx.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Etag", strings.TrimSuffix(tag, `"`)+`-gzip"`)
		httpx.WriteStream(w, http.StatusOK, contentType, int64(s.body.Len()), func(w io.Writer) error {
			_, err := s.body.WriteTo(w)
			return err
		})
		return nil
	}
	httpx.WriteStream(w, http.StatusOK, contentType, s.size, func(w io.Writer) error {
		if r.Method == http.MethodHead {
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

// isWord reports whether a byte is an ASCII letter or digit.
func isWord(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isAddress reports whether a text is an IP address.
func isAddress(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Zone() == ""
}
