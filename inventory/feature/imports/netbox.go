package imports

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/internal/publicnet"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of reading a NetBox.
const (
	netboxTime    = 10 * time.Minute
	netboxRequest = time.Minute
	netboxPages   = 2000
	netboxBytes   = 128 << 20 // of all pages
	netboxMemory  = 2         // times these bytes
)

// errLarge says that a NetBox has too much for a request.
var errLarge = httpx.Errorf(http.StatusRequestEntityTooLarge, "The NetBox has more than fits here: use the command inventoryd import netbox")

// leftOut counts what a NetBox has and the inventory does not.
type leftOut struct {
	Kind    string `json:"kind"`
	Objects int64  `json:"objects"`
}

// netboxRows are what a NetBox has.
type netboxRows struct {
	Status  string    `json:"status"`
	Rows    string    `json:"rows"`
	LeftOut []leftOut `json:"left_out"`
}

// readNetBox is the operation that reads a NetBox, for administrators: the server connects to an address that they name.
func readNetBox() feature.Operation {
	body := openapi.Object("NetBoxSource",
		openapi.Required("url", openapi.BoundedString(1, 2000)),
		openapi.Optional("token", openapi.BoundedString(0, 200)))
	left := openapi.Object("NetBoxLeftOut", openapi.Required("kind", openapi.String("Such as dcim.site facility.")), openapi.Required("objects", openapi.Integer("", 0)))
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPost, Path: "/import/netbox", ID: "readNetBox", Tag: "system", Summary: "Read a NetBox, for up to 10 minutes and 128 MiB, as rows to import; its token is not kept",
		Body: body,
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("NetBoxRows",
			openapi.Required("status", openapi.String("success")), openapi.Required("rows", openapi.String("JSON lines for POST /import.")),
			openapi.Required("left_out", openapi.Array(left, 0, 0)))}},
		Errors: []int{http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge},
	}, Access: auth.Permission{Roles: []auth.Role{auth.Admin}}, Handle: feature.WithBody(fetchNetBox)}
}

// fetchNetBox reads a NetBox.
func fetchNetBox(ctx context.Context, r *feature.Request, sent struct {
	URL   string `json:"url"`
	Token string `json:"token"`
},
) (*feature.Response, error) {
	ctx, cancel := context.WithTimeout(r.Inventory.Unbounded(ctx), netboxTime)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	dialer := &net.Dialer{Timeout: netboxRequest}
	if !r.Inventory.PrivateTargets() {
		dialer.Control = publicnet.Require
	}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: netboxRequest}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Timeout: netboxRequest, Transport: &boundedTransport{Transport: transport, stop: stop},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	export, err := netbox.Fetch(ctx, strings.TrimSpace(sent.URL), strings.TrimSpace(sent.Token), client)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return nil, errLarge
	case cause != nil:
		return nil, cause
	case errors.Is(err, publicnet.ErrNotPublic):
		return nil, httpx.Errorf(http.StatusUnprocessableEntity, "The NetBox is at a private address: whoever runs this server may allow those by IMPORT_PRIVATE=true")
	case err != nil:
		return nil, httpx.Errorf(http.StatusUnprocessableEntity, "The NetBox could not be read: %s", strings.TrimPrefix(err.Error(), "netbox: "))
	}
	found := &netboxRows{Status: "success", LeftOut: []leftOut{}}
	var rows strings.Builder
	source := export.Source(r.Inventory.Records().Schema())
	for {
		row, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if rows.Write(row.Text); rows.Len() > maxForm {
			return nil, errLarge
		}
	}
	for _, c := range export.Unplaced() {
		found.LeftOut = append(found.LeftOut, leftOut{c.Kind, c.Objects})
	}
	found.Rows = rows.String()
	return feature.OK(found), nil
}

// boundedTransport bounds the number of requests and the bytes of all responses, which it reserves. More than that
// stops the request with the reason.
type boundedTransport struct {
	*http.Transport
	stop        context.CancelCauseFunc
	pages, read int64
}

// RoundTrip sends a request.
func (b *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.pages++; b.pages > netboxPages {
		b.stop(errLarge)
	}
	response, err := b.Transport.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{response.Body, r.Context(), b}
	}
	return response, err
}

// boundedBody is the body of a response.
type boundedBody struct {
	io.ReadCloser
	ctx context.Context
	of  *boundedTransport
}

// Read reads a part of the body.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.read += int64(n)
	if b.of.read > netboxBytes || httpx.ReserveBody(b.ctx, netboxMemory*int64(n)) != nil {
		b.of.stop(errLarge)
		return n, errLarge
	}
	return n, err
}

// previewNetBox shows what a NetBox would change. From here on its rows are a file, so that its token is needed once.
func previewNetBox(q *site.Request) error {
	p, err := newImport(q, "")
	if err != nil {
		return err
	}
	p.Address = q.R.PostFormValue("url")
	_ = http.NewResponseController(q.W).SetWriteDeadline(time.Now().Add(netboxTime + time.Minute)) // fails only where the writer has no connection
	found := &netboxRows{}
	_, err = q.Do(&site.Call{Method: http.MethodPost, Path: "/import/netbox", Body: map[string]string{"url": p.Address, "token": q.R.PostFormValue("token")}}, found)
	if fault, ok := p.Fail(stepFile, err); ok {
		return p.send(q, fault.Status)
	}
	if err != nil {
		return err
	}
	if site.Pack([]byte(found.Rows)) == "" {
		return errLarge
	}
	p.Name, p.Format, p.LeftOut = "NetBox", importer.JSONL, found.LeftOut
	return p.check(q, &site.Form{Values: map[string][]string{"step": {stepPreview}}, Name: p.Name, Text: []byte(found.Rows)})
}
