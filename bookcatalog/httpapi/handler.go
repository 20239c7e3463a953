package httpapi

import (
	"cmp"
	_ "embed" // the document
	"errors"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
)

// Options configures [NewHandler]. Nil means the defaults.
type Options struct {
	// LenientISBN accepts any string of up to 32 characters as an ISBN.
	LenientISBN bool
	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Chain configures the middleware. Its default Check is a sanitize.Policy. Default: the
	// defaults of httpx.Standard.
	Chain *httpx.StandardOptions
	// Docs is mounted at /docs/, without that prefix: a page for the OpenAPI document, such as
	// that of package apidocs. Default: no such page.
	Docs http.Handler
}

// NewHandler returns the handler of a catalog over a store.
func NewHandler(store bookcatalog.Store, opts *Options) http.Handler {
	o := cmp.Or(opts, &Options{})
	chain := *cmp.Or(o.Chain, &httpx.StandardOptions{})
	if chain.Check == nil {
		chain.Check = sanitize.New(nil).Middleware
	}
	a := &api{
		catalog: bookcatalog.New(store, &bookcatalog.Options{LenientISBN: o.LenientISBN, Now: o.Now}),
		drafts:  httpx.NewBody[bookcatalog.Book](nil),
		large:   make(chan struct{}, maxLarge),
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/books", handler(a.list))
	mux.Handle("POST /api/books", handler(a.create))
	mux.Handle("GET /api/books/{id}", bookHandler(a.get))
	mux.Handle("PUT /api/books/{id}", bookHandler(a.replace))
	mux.Handle("DELETE /api/books/{id}", bookHandler(a.remove))
	mux.Handle("GET /openapi.json", handler(sendDocument))
	if o.Docs != nil {
		docs := http.StripPrefix("/docs", o.Docs)
		mux.Handle("GET /docs", docs) // redirects to /docs/
		mux.Handle("GET /docs/", docs)
	}
	return httpx.Standard(&chain)(httpx.MuxWith(mux, func(w http.ResponseWriter, r *http.Request) {
		httpx.NotFoundAmong(w, r, []string{"/api/books", "/api/books/{id}", "/openapi.json"})
	}))
}

// api holds the catalog and the decoder of bodies.
type api struct {
	catalog *bookcatalog.Catalog
	drafts  *httpx.Body[bookcatalog.Book]
	large   chan struct{} // holds an element for each large list that is being built
}

func (a *api) create(w http.ResponseWriter, r *http.Request) error {
	draft, err := a.drafts.Read(r)
	if err != nil {
		return err
	}
	b, err := a.catalog.Add(r.Context(), &draft)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpx.SentPath(r)+"/"+b.ID)
	httpx.SetTag(w, tag(b))
	return httpx.WriteJSON(w, http.StatusCreated, b)
}

func (a *api) get(r *http.Request, id string) (*bookcatalog.Book, error) {
	return a.catalog.Get(r.Context(), id)
}

func (a *api) replace(r *http.Request, id string) (*bookcatalog.Book, error) {
	draft, err := a.drafts.Read(r)
	if err != nil {
		return nil, err
	}
	if draft.ID != "" && draft.ID != id {
		return nil, badField("id", "does not match the path: leave it out, or send "+id)
	}
	return a.catalog.Replace(r.Context(), id, &draft, preconditions(r))
}

func (a *api) remove(r *http.Request, id string) (*bookcatalog.Book, error) {
	return nil, a.catalog.Remove(r.Context(), id, preconditions(r))
}

// bookHandler returns a handler for a function of the book with the id in the path. It responds with
// the book that the function returns, or confirms that the book is deleted.
func bookHandler(f func(r *http.Request, id string) (*bookcatalog.Book, error)) http.Handler {
	return handler(func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if !bookcatalog.ValidID(id) {
			return badField("id", "must be a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
		}
		b, err := f(r, id)
		if err != nil {
			return err
		}
		if b == nil {
			return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("Book deleted"))
		}
		httpx.SetTag(w, tag(b))
		if httpx.NotModified(w, r, tag(b)) {
			return nil
		}
		return httpx.WriteJSON(w, http.StatusOK, b)
	})
}

// tag returns the entity tag of a book.
func tag(b *bookcatalog.Book) string { return httpx.VersionTag(b.ID, b.Version) }

// preconditions checks If-Match and If-None-Match of a request against a book.
func preconditions(r *http.Request) func(*bookcatalog.Book) error {
	return func(b *bookcatalog.Book) error { return httpx.Preconditions(r, tag(b)) }
}

func badField(field, reason string) error {
	return &httpx.Error{
		Status: http.StatusBadRequest, Message: field + " " + reason,
		Fields: []httpx.FieldError{{Field: field, Reason: reason}},
	}
}

// handler returns a handler for a function, and converts the errors of the catalog that it returns.
func handler(f httpx.HandlerFunc) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		err := f(w, r)
		e, ok := errors.AsType[*bookcatalog.Error](err)
		if !ok {
			return err
		}
		converted := &httpx.Error{Status: statuses[e.Kind], Message: e.Message, Err: e.Err}
		for _, f := range e.Fields {
			converted.Fields = append(converted.Fields, httpx.FieldError{Field: f.Field, Reason: f.Reason})
		}
		if e.Kind == bookcatalog.Full {
			converted.Header = http.Header{"Retry-After": {"60"}} // somebody has to make room
		}
		return converted
	})
}

// document is the OpenAPI document. It is written by hand; tests compare it with the handler.
//
//go:embed openapi.json
var document []byte

func sendDocument(w http.ResponseWriter, r *http.Request) error {
	return httpx.WriteTagged(w, r, "application/json", document)
}

// statuses maps kinds to HTTP status codes.
var statuses = map[bookcatalog.ErrorKind]int{
	bookcatalog.Invalid:  http.StatusBadRequest,
	bookcatalog.NotFound: http.StatusNotFound,
	bookcatalog.Conflict: http.StatusConflict,
	bookcatalog.Stale:    http.StatusConflict,
	bookcatalog.Full:     http.StatusInsufficientStorage,
}
