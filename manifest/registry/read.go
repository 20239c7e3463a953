package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/listquery"
)

// Limits of a page.
const (
	defaultLimit = 30
	maxLimit     = 100
)

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	q, err := ParseQuery(r.URL.Query())
	if err != nil {
		return err
	}
	page, err := List(r.Context(), a.store, q)
	if err != nil {
		return err
	}
	return sendPage(w, r, page)
}

// ParseQuery reads the query parameters of a list: cursor, limit, search, updated_since, version and
// include_deleted. Others are ignored. The error is an *httpx.Error.
func ParseQuery(values url.Values) (*Query, error) {
	q := &Query{Limit: defaultLimit}
	q.Search, q.Version = values.Get("search"), values.Get("version")
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			return nil, badParameter(http.StatusUnprocessableEntity, "limit", fmt.Sprintf("must be a number from 1 to %d", maxLimit))
		}
		q.Limit = n
	}
	if !searchable(q.Search) {
		return nil, badParameter(http.StatusUnprocessableEntity, "search", fmt.Sprintf("must have at most %d characters in one line", maxSearch))
	}
	if len(q.Version) > maxName {
		return nil, badParameter(http.StatusUnprocessableEntity, "version", fmt.Sprintf("must have at most %d bytes", maxName))
	}
	if text := values.Get("updated_since"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil || t.IsZero() {
			return nil, badParameter(http.StatusBadRequest, "updated_since", "must be a time of RFC 3339, such as 2026-01-31T12:00:00Z")
		}
		q.UpdatedSince = t.UTC()
	}
	var err error
	if q.IncludeDeleted, err = flag(values); err != nil {
		return nil, err
	}
	return q, q.follow(values.Get("cursor"))
}

// follow continues after the position of a cursor. An empty one is the beginning.
func (q *Query) follow(cursor string) error {
	if cursor == "" {
		return nil
	}
	q.After = &Position{}
	if !listquery.DecodeCursor(cursor, q.After) {
		return badParameter(http.StatusBadRequest, "cursor", "is invalid: use nextCursor of the page before")
	}
	if q.After.Updated.IsZero() == q.ByTime() {
		return badParameter(http.StatusBadRequest, "cursor", "is of a list with another order: send the same parameters, or no cursor to begin")
	}
	return nil
}

// flag returns the parameter include_deleted.
func flag(values url.Values) (bool, error) {
	text := values.Get("include_deleted")
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, badParameter(http.StatusUnprocessableEntity, "include_deleted", "must be true or false")
	}
	return on, nil
}

func badParameter(status int, name, reason string) error {
	return &httpx.Error{Status: status, Message: name + " " + reason, Fields: []httpx.FieldError{{Field: "query." + name, Reason: reason}}}
}

func (a *api) versions(w http.ResponseWriter, r *http.Request) error {
	deleted, err := flag(r.URL.Query())
	if err != nil {
		return err
	}
	all, err := a.store.Versions(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return ErrNotFound
	}
	f := Filter{IncludeDeleted: deleted}
	page := Page{}
	for i := range all {
		if f.selects(all[i].Version, &all[i].State) {
			page.Servers = append(page.Servers, all[i])
		}
	}
	if len(page.Servers) == 0 {
		return gone("All versions of this server were deleted")
	}
	page.Metadata.Count = len(page.Servers)
	return sendPage(w, r, &page)
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	deleted, err := flag(r.URL.Query())
	if err != nil {
		return err
	}
	e, err := a.store.Get(r.Context(), r.PathValue("name"), r.PathValue("version"))
	if err != nil {
		return err
	}
	if e.State.Status == Deleted && !deleted {
		return gone("This version was deleted")
	}
	return sendTagged(w, r, len(e.Server), e)
}

// gone is the error for what was deleted.
func gone(message string) error {
	return httpx.Errorf(http.StatusGone, "%s: include_deleted=true shows it", message)
}

// sendPage responds with a page.
func sendPage(w http.ResponseWriter, r *http.Request, page *Page) error {
	size := 0
	for i := range page.Servers {
		size += len(page.Servers[i].Server)
	}
	return sendTagged(w, r, size, page)
}

// sendTagged responds with a value that holds so many bytes, and an entity tag of its JSON.
func sendTagged(w http.ResponseWriter, r *http.Request, size int, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := httpx.Reserve(r.Context(), int64(size)); err != nil {
		return err
	}
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return httpx.WriteTagged(w, r, "application/json", b.Bytes())
}
