package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of stored responses (REFERENCE.md, 2.6).
const (
	idempotencyLifetime   = 24 * time.Hour
	idempotencyLeast      = time.Hour // for which a response is kept, however many follow
	maxIdempotencyRecords = 20_000    // of one user; the oldest are deleted first
	maxPruned             = 10        // deleted with each new one
	maxKeyLength          = 255
)

// created is the response to a request that created records.
type created struct {
	location, tag string // of a single record
	body          []byte // without a line feed at the end
}

// createOnce creates records and responds with what respond returns. With an Idempotency-Key
// the response is stored in the same transaction, and a repeated request gets it again. Of
// concurrent requests with one key, one commits; the others fail to store their response,
// which rolls them back, and respond with the stored one.
func (c *call) createOnce(body []byte, create func(v *records.Engine) error, respond func() *created) (*feature.Response, error) {
	key, err := c.idempotencyKey(body)
	if err != nil {
		return nil, err
	}
	if res, err := c.replay(key); res != nil || err != nil {
		return res, err
	}
	v := c.inventory()
	if key != nil {
		v = v.BeforeCommit(func(ctx context.Context, tx records.Tx) error { return c.storeResponse(ctx, tx, key, respond()) })
	}
	if err := create(v); err != nil {
		res, replayErr := c.replay(key)
		if res != nil {
			return res, nil
		}
		if e, ok := errors.AsType[*httpx.Error](replayErr); ok {
			return nil, e
		}
		return nil, err
	}
	if c.dryRun {
		return &feature.Response{}, nil
	}
	return respond().response(), nil
}

// response returns the response with created records.
func (res *created) response() *feature.Response {
	h := http.Header{}
	if res.location != "" {
		h.Set("Location", res.location)
	}
	return &feature.Response{Status: http.StatusCreated, Header: h, Tag: res.tag, Append: func(b []byte) []byte { return append(b, res.body...) }}
}

// idempotencyKey identifies a request that may be repeated.
type idempotencyKey struct{ owner, key, request string }

// idempotencyKey returns the key of the request, nil without one and in a dry run.
func (c *call) idempotencyKey(body []byte) (*idempotencyKey, error) {
	values := c.r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return nil, nil
	}
	key := values[0]
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if len(values) > 1 || key == "" || len(key) > maxKeyLength || strings.ContainsFunc(key, unprintable) {
		return nil, badField("Idempotency-Key", records.BadFormat(fmt.Sprintf("1 to %d printable ASCII characters, and sent once", maxKeyLength)))
	}
	if c.dryRun {
		return nil, nil
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %s?%s\n", c.r.Method, c.r.URL.Path, c.r.URL.RawQuery) // never fails
	sum.Write(body)
	if c.places != nil { // with other places it is another request
		_, _ = fmt.Fprintf(sum, "\n%q", c.places.IDs)
	}
	return &idempotencyKey{owner: c.keyOwner(), key: key, request: hex.EncodeToString(sum.Sum(nil))}, nil
}

// keyOwner separates the keys of users: by id, or by name for accounts without ids.
func (c *call) keyOwner() string {
	if id := c.identity.UserID; id != "" && len(id) <= 100 {
		return "id " + id
	}
	sum := sha256.Sum256([]byte(c.identity.Username))
	return "name " + hex.EncodeToString(sum[:])
}

// replay returns the stored response, nil if there is none.
func (c *call) replay(key *idempotencyKey) (*feature.Response, error) {
	if key == nil {
		return nil, nil
	}
	stored, err := findResponse(c.r.Context(), records.Fresh(c.api.store), key)
	if err == nil && stored != nil { // again in a transaction, which ends when what it has read is on disk
		err = c.api.store.Change(c.r.Context(), func(tx records.Tx) error {
			stored, err = findResponse(c.r.Context(), tx, key)
			return err
		})
	}
	if err != nil || stored == nil || c.expired(stored) {
		return nil, err
	}
	if stored.Request != key.request {
		return nil, &httpx.Error{
			Status:  http.StatusUnprocessableEntity,
			Message: "Idempotency-Key was already used for another request: use a new key",
			Fields:  []httpx.FieldError{{Field: "Idempotency-Key", Code: "in_use", Reason: "was already used for another request: use a new key"}},
		}
	}
	res := &created{location: stored.Location, body: []byte(stored.Body)}
	var rec records.Base
	if json.Unmarshal(res.body, &rec) == nil && rec.ID != "" {
		res.tag = httpx.VersionTag(rec.ID, rec.Version)
	}
	again := res.response()
	again.Header.Set("Idempotent-Replayed", "true")
	return again, nil
}

// findResponse returns the stored response of a key, nil if there is none.
func findResponse(ctx context.Context, from records.Reader, key *idempotencyKey) (*records.IdempotencyRecord, error) {
	return records.First[records.IdempotencyRecord](ctx, from, "owner", key.owner, "key", key.key)
}

func (c *call) expired(stored *records.IdempotencyRecord) bool {
	return c.api.now().Sub(stored.CreatedAt) >= idempotencyLifetime
}

// storeResponse adds the response to the transaction and prunes old ones.
func (c *call) storeResponse(ctx context.Context, tx records.Tx, key *idempotencyKey, res *created) error {
	old, err := findResponse(ctx, tx, key)
	if err != nil {
		return err
	}
	if old != nil && c.expired(old) {
		if err := tx.Delete(ctx, records.Of[records.IdempotencyRecord](c.schema), old.ID, old.Version, nil); err != nil {
			return err
		}
	}
	if err := c.pruneResponses(ctx, tx, key.owner); err != nil {
		return err
	}
	rec := &records.IdempotencyRecord{
		Owner: key.owner, Key: key.key, Request: key.request,
		Status: http.StatusCreated, Location: res.location, Body: string(res.body),
	}
	if err := c.api.changes.Init(rec); err != nil {
		return err
	}
	return tx.Create(ctx, rec)
}

// pruneResponses deletes some stored responses that are expired, or too many of one user. Their ids are in
// order of age.
func (c *call) pruneResponses(ctx context.Context, tx records.Tx, owner string) error {
	responses := records.Of[records.IdempotencyRecord](c.schema)
	remove := func(rec records.Record) error {
		return tx.Delete(ctx, responses, rec.Meta().ID, rec.Meta().Version, nil)
	}
	page, err := tx.List(ctx, &records.Query{Resource: responses, Limit: maxPruned, Count: true})
	if err != nil {
		return err
	}
	for _, rec := range page.Records {
		if !c.expired(rec.(*records.IdempotencyRecord)) {
			break
		}
		if err := remove(rec); err != nil {
			return err
		}
	}
	if page.Total < maxIdempotencyRecords {
		return nil // nor has one user more
	}
	own, err := tx.List(ctx, (&records.Query{Resource: responses, Limit: maxPruned, Count: true}).Where("owner", owner))
	if err != nil {
		return err
	}
	for i, rec := range own.Records {
		if own.Total-int64(i) < maxIdempotencyRecords {
			break
		}
		if c.api.now().Sub(rec.Meta().CreatedAt) < idempotencyLeast {
			return retryLater(http.StatusTooManyRequests, 60, nil, "Too many requests with an Idempotency-Key: at most %d an hour, so that each is kept for an hour; send several records at once", maxIdempotencyRecords)
		}
		if err := remove(rec); err != nil {
			return err
		}
	}
	return nil
}
