package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// document is the encoded OpenAPI document.
type document struct {
	plain, gzipped []byte
	tag            string
}

// documents is the document of the current schema. To generate it takes a tenth of a second, so it is
// done at the first request after a change.
type documents struct {
	mu     sync.Mutex
	schema *records.Schema
	made   *document
}

// document returns the document of the schema of a request.
func (c *call) document() (*document, error) {
	d := &c.api.documents
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schema == c.schema {
		return d.made, nil
	}
	made, err := c.api.newDocument()
	if err == nil {
		d.schema, d.made = c.schema, made
	}
	return made, err
}

// newDocument returns the document of the routes.
func (a *API) newDocument() (*document, error) {
	tags := map[string]string{
		"system": "The API itself.", "changes": "The feed of changes.",
		"discovery": "Devices in the formats of other programs.",
	}
	for _, f := range a.Features() {
		maps.Copy(tags, f.Tags)
	}
	for _, r := range a.store.Schema().Resources() {
		tags[r.Name] = r.Describe()
	}
	all, err := a.operations()
	if err != nil {
		return nil, err
	}
	plain, err := openapi.Document(openapi.Info{
		Title: "Network inventory", Version: a.opts.Version, Server: a.opts.ServerURL,
		Description: "Devices, their interfaces, locations, VLANs, links, events, metrics and users, and the audit log of all changes. " +
			"Every response has the headers X-Request-ID, X-Response-Time, X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.",
		License: &openapi.License{Name: "MIT", Identifier: "MIT"},
		Tags:    tags,
	}, all)
	if err != nil {
		return nil, fmt.Errorf("generate the OpenAPI document: %w", err)
	}
	var gzipped bytes.Buffer
	w := gzip.NewWriter(&gzipped)
	_, _ = w.Write(plain) // a buffer does not fail
	_ = w.Close()
	sum := sha256.Sum256(plain)
	return &document{plain, gzipped.Bytes(), `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}, nil
}

// operations returns the routes for the document, as the schema is now.
func (a *API) operations() (all []openapi.Operation, err error) {
	routes, err := a.table()
	for _, rt := range routes {
		if rt.feature != nil && rt.feature.Foreign {
			continue
		}
		op := rt.doc
		op.Method, op.Path = rt.method, rt.path
		op.Access, op.Public = describeAccess(rt.access), rt.access.Anonymous
		if rt.needsLogin() {
			op.Access += " API tokens are refused."
		}
		all = append(all, op)
	}
	return all, err
}

// describeAccess returns a permission as a sentence.
func describeAccess(p auth.Permission) string {
	switch {
	case p.Anonymous:
		return "Everyone, without a token."
	case p.Everyone:
		return "Everyone with a token."
	}
	var roles []string
	if len(p.Roles) > 0 && !slices.Contains(p.Roles, auth.Admin) {
		roles = append(roles, string(auth.Admin))
	}
	for _, role := range p.Roles {
		roles = append(roles, string(role))
	}
	text := "Role " + strings.Join(roles, " or ")
	switch {
	case p.Owner && len(roles) == 0:
		text = "The owner of the record"
	case p.Owner:
		text += ", or the owner of the record"
	}
	return text + "."
}

// openAPI serves the document.
func openAPI() operation {
	return operation{openapi.Operation{
		ID: "openAPI", Tag: "system", Summary: "Get this document",
		Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
		Responses: []openapi.Response{
			{Status: http.StatusOK, Schema: openapi.Object(""), Headers: []openapi.Header{openapi.ETag()}},
			notModified(),
		},
	}, (*call).sendDocument}
}

// sendDocument responds with the document, compressed if the client accepts that. The gzip
// middleware would compress it anew for each request; it skips compressed responses.
func (c *call) sendDocument() (*feature.Response, error) {
	doc, err := c.document()
	if err != nil {
		return nil, err
	}
	return &feature.Response{Send: func(w http.ResponseWriter, r *http.Request) error {
		httpx.SetTag(w, doc.tag)
		if httpx.NotModified(w, r, doc.tag) {
			return nil
		}
		w.Header().Add("Vary", "Accept-Encoding")
		if !httpx.AcceptsGzip(r) {
			return httpx.WriteBytes(w, http.StatusOK, contentType[0], doc.plain)
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Etag", strings.TrimSuffix(doc.tag, `"`)+`-gzip"`)
		return httpx.WriteBytes(w, http.StatusOK, contentType[0], doc.gzipped)
	}}, nil
}
