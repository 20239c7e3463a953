package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Pointer is a pointer to a record type: *inventory.Device for inventory.Device.
type Pointer[T any] interface {
	*T
	records.Record
}

// Edit is the change or deletion of one record.
type Edit struct {
	ID string
	// Version is the version that the record must have; the change of another one is an [Error] with the Status 412. 0 is any.
	Version int64
	// Fields are the new values of some fields by their names in JSON. nil clears a field. A deletion has none.
	Fields map[string]any
}

// List reads the records of a list one after the other, as many as there are, page by page: memory holds one page. The
// query has the filters and the order of the API (REFERENCE.md, 2.3), and limit, the size of a page, 100 by default and at
// most; nil is all records. After an error the list ends.
//
// With the parameter fields the other fields of the records are zero: do not give such records to [Replace].
func List[T any, P Pointer[T]](ctx context.Context, c *Client, query url.Values) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		r, err := c.resource(P(new(T)))
		if err != nil {
			yield(nil, err)
			return
		}
		for doc, err := range c.Pages(ctx, r.Name, query) {
			var rec P
			if err == nil {
				rec, err = decode[T, P](c, doc)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Pages reads the records of a list as JSON, like [List]. The resource is its name, such as devices.
func (c *Client) Pages(ctx context.Context, resource string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		query := maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		query.Set("limit", cmp.Or(query.Get("limit"), strconv.Itoa(records.MaxLimit)))
		query.Set("count", "none")
		for more := true; more; {
			query.Set("cursor", query.Get("cursor"))
			var page struct {
				Meta *struct {
					Next string `json:"next_cursor"`
				}
				Data []json.RawMessage
			}
			err := c.Do(ctx, http.MethodGet, "/"+resource, query, nil, &page)
			if err == nil && page.Meta == nil {
				err = fmt.Errorf("GET /%s: the response is not the page of a list", resource)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, doc := range page.Data {
				if !yield(doc, nil) {
					return
				}
			}
			if more = page.Meta.Next != ""; more && page.Meta.Next == query.Get("cursor") {
				yield(nil, fmt.Errorf("GET /%s: the server has sent the same cursor twice", resource))
				return
			}
			query.Set("cursor", page.Meta.Next)
		}
	}
}

// Get reads a record. The [Error] for one that does not exist has the Status 404.
func Get[T any, P Pointer[T]](ctx context.Context, c *Client, id string) (P, error) {
	return one[T, P](ctx, c, &request{method: http.MethodGet, repeatable: true}, id, nil)
}

// Create creates a record, and returns it as it is stored. Fields with the zero value are not sent, so that they get their
// defaults; [records.Base].Extra has the fields that the type does not. It has an Idempotency-Key: if a response is lost,
// it is sent again and creates nothing twice.
func Create[T any, P Pointer[T]](ctx context.Context, c *Client, rec P) (P, error) {
	doc, err := c.encode(rec, true)
	if err != nil {
		return nil, err
	}
	return one[T, P](ctx, c, creation(), "", doc)
}

// Patch changes some fields of a record, and returns it as it is stored.
func Patch[T any, P Pointer[T]](ctx context.Context, c *Client, edit Edit) (P, error) {
	fields := edit.Fields
	if fields == nil {
		fields = map[string]any{}
	}
	return one[T, P](ctx, c, conditional(http.MethodPatch, edit.ID, edit.Version), edit.ID, fields)
}

// Replace stores a record that was read and changed, with all fields, those in [records.Base].Extra included, and returns
// it as it is stored. If it has another version by now, nothing is stored and the [Error] has the Status 412. A record with
// the Version 0 replaces any version.
func Replace[T any, P Pointer[T]](ctx context.Context, c *Client, rec P) (P, error) {
	doc, err := c.encode(rec, false)
	if err != nil {
		return nil, err
	}
	base := rec.Meta()
	return one[T, P](ctx, c, conditional(http.MethodPut, base.ID, base.Version), base.ID, doc)
}

// Delete deletes a record. Fields of the edit are ignored.
func Delete[T any, P Pointer[T]](ctx context.Context, c *Client, edit Edit) error {
	r, err := c.path(P(new(T)), edit.ID)
	if err != nil {
		return err
	}
	sent := conditional(http.MethodDelete, edit.ID, edit.Version)
	sent.path = r
	err = c.do(ctx, sent, nil, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound && e.Unsure {
		return nil // the response to an earlier attempt was lost
	}
	return err
}

// CreateAll creates up to [records.MaxItems] records, all or none, and returns them as they are stored, in their order.
// An [Error] has Items. Like [Create] it can be repeated.
func CreateAll[T any, P Pointer[T]](ctx context.Context, c *Client, recs ...P) ([]P, error) {
	docs := make([]map[string]json.RawMessage, len(recs))
	for i, rec := range recs {
		var err error
		if docs[i], err = c.encode(rec, true); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return many[T, P](ctx, c, creation(), docs)
}

// PatchAll changes up to [records.MaxItems] records, all or none, and returns them as they are stored, in their order.
func PatchAll[T any, P Pointer[T]](ctx context.Context, c *Client, edits ...Edit) ([]P, error) {
	items := make([]map[string]any, len(edits))
	for i, e := range edits {
		items[i] = e.item()
	}
	return many[T, P](ctx, c, &request{method: http.MethodPatch, repeatable: true}, items)
}

// DeleteAll deletes up to [records.MaxItems] records, all or none.
func DeleteAll[T any, P Pointer[T]](ctx context.Context, c *Client, edits ...Edit) error {
	items := make([]map[string]any, len(edits))
	for i, e := range edits {
		items[i] = Edit{ID: e.ID, Version: e.Version}.item()
	}
	path, err := c.path(P(new(T)), "")
	if err != nil {
		return err
	}
	return c.do(ctx, &request{method: http.MethodDelete, path: path, repeatable: true}, items, nil)
}

// creation returns a request that creates records once, however often it is sent.
func creation() *request {
	return &request{method: http.MethodPost, header: http.Header{"Idempotency-Key": {rand.Text()}}, repeatable: true}
}

// conditional returns a request for a version of a record.
func conditional(method, id string, version int64) *request {
	r := &request{method: method, repeatable: true}
	if version != 0 {
		r.header = http.Header{"If-Match": {httpx.VersionTag(id, version)}}
	}
	return r
}

// item returns the edit as an item of a bulk request.
func (e Edit) item() map[string]any {
	item := maps.Clone(e.Fields)
	if item == nil {
		item = map[string]any{}
	}
	item["id"] = e.ID
	if e.Version != 0 {
		item["if_version"] = e.Version
	}
	return item
}

// one sends a request for a record and reads it. The id is that of the path; "" is the path of all.
func one[T any, P Pointer[T]](ctx context.Context, c *Client, r *request, id string, in any) (P, error) {
	if id == "" && r.method != http.MethodPost {
		return nil, errors.New("client: the id of the record is empty")
	}
	path, err := c.path(P(new(T)), id)
	if err != nil {
		return nil, err
	}
	r.path = path
	var doc json.RawMessage
	if err := c.do(ctx, r, in, &doc); err != nil {
		return nil, err
	}
	return decode[T, P](c, doc)
}

// many sends a bulk request and reads the records of the response.
func many[T any, P Pointer[T]](ctx context.Context, c *Client, r *request, in any) ([]P, error) {
	path, err := c.path(P(new(T)), "")
	if err != nil {
		return nil, err
	}
	r.path = path
	var got struct{ Results []json.RawMessage }
	if err := c.do(ctx, r, in, &got); err != nil {
		return nil, err
	}
	recs := make([]P, len(got.Results))
	for i, doc := range got.Results {
		if recs[i], err = decode[T, P](c, doc); err != nil {
			return nil, err
		}
	}
	return recs, nil
}

func (c *Client) resource(rec records.Record) (*records.Resource, error) {
	r, err := c.opts.Schema.Of(rec)
	if err != nil {
		return nil, fmt.Errorf("client: Options.Schema: %w", err)
	}
	return r, nil
}

// path returns the path of a record, or of all of them if the id is "".
func (c *Client) path(rec records.Record, id string) (string, error) {
	r, err := c.resource(rec)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "/" + r.Name, nil
	case !records.ValidID(id):
		return "", fmt.Errorf("client: %q is no id of a record: use a UUID of 36 characters", id)
	}
	return "/" + r.Name + "/" + id, nil
}

// decode reads a record. Members without a field in the type are in Extra.
func decode[T any, P Pointer[T]](c *Client, doc json.RawMessage) (P, error) {
	rec := P(new(T))
	r, err := c.resource(rec)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err = json.Unmarshal(doc, rec); err == nil {
		err = json.Unmarshal(doc, &members)
	}
	if err != nil {
		return nil, fmt.Errorf("a record of %s is not as expected: %w", r.Name, err)
	}
	extra := records.Values{}
	for name, text := range members {
		f, known := r.Field(name)
		if known && !f.Extra {
			continue
		}
		if extra[name], err = value(f, text); err != nil {
			return nil, fmt.Errorf("a record of %s: the field %s: %w", r.Name, name, err)
		}
	}
	if len(extra) > 0 {
		rec.Meta().Extra = extra
	}
	return rec, nil
}

// value returns a value of JSON in the Go type of the kind of its field, or if the schema does not have the field, in one
// that fits: a string, an int64, a float64, a bool, a []string, or what json.Unmarshal makes of it.
func value(f *records.Field, text json.RawMessage) (any, error) {
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	var v any
	if err := numbers.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && (f == nil || f.Kind != records.Float) {
			return n, nil
		}
		return v.Float64()
	case string:
		if f != nil && f.Kind == records.Time {
			return time.Parse(time.RFC3339, v)
		}
	case []any:
		var list []string
		if json.Unmarshal(text, &list) == nil && !strings.Contains(string(text), "null") {
			return list, nil
		}
	}
	return v, nil
}

// encode returns the members of a record that a client may set. Of a new one they are those with a value.
func (c *Client) encode(rec records.Record, isNew bool) (map[string]json.RawMessage, error) {
	r, err := c.resource(rec)
	if err != nil {
		return nil, err
	}
	doc := map[string]json.RawMessage{}
	for name, v := range rec.Meta().Extra {
		if doc[name], err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("client: the field %s in Extra: %w", name, err)
		}
	}
	for _, f := range r.Fields() {
		v := f.Value(rec)
		zero := v == nil || reflect.ValueOf(v).IsZero() && reflect.ValueOf(v).Kind() != reflect.Struct
		switch {
		case f.ReadOnly || f.Hidden:
			delete(doc, f.Name)
		case f.Extra:
		case !zero || !isNew && !f.WriteOnly:
			doc[f.Name] = encode.Value(nil, f, v)
		}
	}
	return doc, nil
}

// Changes follows the changes of resources, such as devices, or without names those of all that the token may read. Each
// comes once and in the order in which they were committed. since is the Cursor of a change that was handled before, or
// one of [Client.Cursor]; "" is from now on, and "0" all that are kept. After a failure of the server or of the network
// it connects again, and continues; the iterator ends when the loop does, or with an error: that of ctx, or an [*Error].
// One with the Status 410 says that the changes after the cursor are no longer kept: start over as in the package comment.
func (c *Client) Changes(ctx context.Context, since string, resources ...string) iter.Seq2[feed.Change, error] {
	return func(yield func(feed.Change, error) bool) {
		endless := *c.opts.HTTP
		endless.Timeout = 0
		opts := &feed.Options{Resources: resources, Client: &endless, MaxBackoff: c.opts.MaxWait, Log: slog.New(slog.DiscardHandler)}
		errEnough := errors.New("the loop has ended")
		err := feed.Follow(ctx, c.base.String(), c.opts.Token, since, opts, func(change feed.Change) error {
			if !yield(change, nil) {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			yield(feed.Change{}, feedError(err))
		}
	}
}

// Cursor returns the position after the last change, for [Client.Changes].
func (c *Client) Cursor(ctx context.Context) (string, error) {
	var page struct{ Next string }
	err := c.Do(ctx, http.MethodGet, "/changes", url.Values{"limit": {"1"}}, nil, &page)
	return page.Next, err
}

// feedError returns an error of a feed as one of the client.
func feedError(err error) error {
	failed := &Error{Method: http.MethodGet, Path: "/changes"}
	if gone, ok := errors.AsType[*feed.GoneError](err); ok {
		failed.Status, failed.Code, failed.Message = http.StatusGone, "gone", gone.Message
		return failed
	}
	if refused, ok := errors.AsType[*feed.StatusError](err); ok {
		failed.Status, failed.Code, failed.Message = refused.Status, errcode.OfStatus(refused.Status), refused.Message
		return failed
	}
	return err
}
