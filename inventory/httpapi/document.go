package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// document is the OpenAPI document, ready to be sent.
type document struct {
	plain, zipped []byte
	tag           string
}

// describe makes the document from the routes. It takes a tenth of a second, so it is made
// when it is first asked for, and kept.
func (a *API) describe() (*document, error) {
	plain, err := openapi.Document(openapi.Info{
		Title: "Network inventory", Version: a.opts.Version, Server: a.opts.ServerURL,
		Description: "Devices, their interfaces, locations, VLANs, links, events, metrics and users, and the audit log of all that changes.",
	}, a.operations())
	if err != nil {
		return nil, fmt.Errorf("describe the routes: %w", err)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, _ = zip.Write(plain) // a buffer does not fail
	_ = zip.Close()
	sum := sha256.Sum256(plain)
	return &document{plain, zipped.Bytes(), `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}, nil
}

// operations are the routes as the document tells of them.
func (a *API) operations() []openapi.Operation {
	var all []openapi.Operation
	for i := range a.routes {
		rt := &a.routes[i]
		op := rt.doc
		op.Method, op.Path = rt.method(), rt.path()
		op.Access, op.Public = whoMay(rt.access), rt.access == auth.Public
		all = append(all, op)
	}
	return all
}

// whoMay is the access rule of an action in words.
func whoMay(action auth.Action) string {
	var who []string
	for _, role := range auth.Roles() {
		if auth.Allowed(role, action, false) {
			who = append(who, string(role))
		}
	}
	switch {
	case auth.Allowed("", action, false):
		return "Everybody, without a token."
	case len(who) == len(auth.Roles()):
		return "Everybody with a token."
	}
	text := "Role " + strings.Join(who, " or ")
	if auth.Allowed(auth.Viewer, action, true) {
		text += ", or the user whose record it is"
	}
	return text + "."
}

// openAPI is the document itself.
func (a *API) openAPI() operation {
	return operation{
		openapi.Operation{
			ID: "openAPI", Tag: "system", Summary: "Read this document",
			Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
			Answers: []openapi.Answer{
				{Status: http.StatusOK, Schema: openapi.Object(""), Headers: tagged()},
				{Status: http.StatusNotModified, Headers: tagged()},
			},
		},
		(*call).sendDocument,
	}
}

// sendDocument sends the document compressed if the client takes that. The layer that
// compresses answers leaves it alone then; it would do it anew for each request.
func (c *call) sendDocument() error {
	doc, err := c.document()
	if err != nil {
		return err
	}
	body := doc.plain
	httpx.SetTag(c.w, doc.tag)
	if httpx.NotModified(c.w, c.r, doc.tag) {
		return nil
	}
	c.w.Header().Add("Vary", "Accept-Encoding")
	if httpx.AcceptsGzip(c.r) {
		body = doc.zipped
		c.w.Header().Set("Content-Encoding", "gzip")
		c.w.Header().Set("Etag", strings.TrimSuffix(doc.tag, `"`)+`-gzip"`)
	}
	c.sendBytes(http.StatusOK, body)
	return nil
}
