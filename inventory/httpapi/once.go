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
	"github.com/ashlar-go/ashlar/inventory"
)

// The bounds of what is kept for requests with an Idempotency-Key.
const (
	receiptLifetime = 24 * time.Hour
	maxReceipts     = 10_000 // of all clients; the oldest go first
	pruned          = 10     // receipts at most, with each new one
	maxKey          = 255    // bytes
)

// answer is that of a request that has created something.
type answer struct {
	status int
	id     string // of the record, empty if there are several
	tag    string // of the record
	body   []byte // without the last line feed
}

// then makes, of what the answer will be, the last step of a transaction.
type then = func(made func() *answer) func(ctx context.Context, tx inventory.Tx) error

// once runs a request that creates something, and answers it. With an Idempotency-Key the
// answer is kept in the transaction that does it, and given again to the same
// request with the same key. Of several at the same time, one does it: the others fail to
// keep their answers, which undoes what they did, and give the one that was kept.
func (c *call) once(body []byte, do func(then) (*answer, error)) error {
	a, err := c.attempt(body)
	if err != nil {
		return err
	}
	if done, err := c.replay(a); done || err != nil {
		return err
	}
	made, err := do(func(made func() *answer) func(context.Context, inventory.Tx) error {
		return func(ctx context.Context, tx inventory.Tx) error { return c.keep(ctx, tx, a, made()) }
	})
	if err != nil {
		return c.overtaken(a, err)
	}
	c.created(made, c.locationOf(made))
	return nil
}

// overtaken is what becomes of a request that has failed: another one with its key may have
// been quicker.
func (c *call) overtaken(a *attempt, err error) error {
	done, again := c.replay(a)
	if done {
		return nil
	}
	if other, ok := errors.AsType[*httpx.Error](again); ok {
		return other
	}
	return err
}

// created answers what was made, now or before.
func (c *call) created(made *answer, location string) {
	if !c.dry {
		if location != "" {
			c.w.Header().Set("Location", location)
		}
		if made.tag != "" {
			httpx.SetTag(c.w, made.tag)
		}
	}
	c.send(made.status, func(b []byte) []byte { return append(b, made.body...) })
}

func (c *call) locationOf(made *answer) string {
	if made.id == "" {
		return ""
	}
	return c.location(made.id)
}

// attempt is a request that may come again. Nil is one that says nothing of it.
type attempt struct{ owner, key, request string }

// attempt reads the Idempotency-Key. A dry run keeps nothing.
func (c *call) attempt(body []byte) (*attempt, error) {
	values := c.r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return nil, nil
	}
	key := values[0]
	strange := func(r rune) bool { return r < ' ' || r > '~' }
	if len(values) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, strange) {
		return nil, badField("Idempotency-Key", fmt.Sprintf("must come once, with 1 to %d printable characters", maxKey))
	}
	if c.dry {
		return nil, nil
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %s?%s\n", c.r.Method, c.r.URL.Path, c.r.URL.RawQuery) // never fails
	sum.Write(body)
	return &attempt{owner: c.sender(), key: key, request: hex.EncodeToString(sum.Sum(nil))}, nil
}

// sender keeps the keys of users apart: by id, or by name where ids mean nothing.
func (c *call) sender() string {
	if id := c.claims.UserID; id != "" && len(id) <= 100 {
		return "id " + id
	}
	sum := sha256.Sum256([]byte(c.claims.Username))
	return "name " + hex.EncodeToString(sum[:])
}

// replay answers as the first time, if there was one, and reports whether it did.
func (c *call) replay(a *attempt) (done bool, err error) {
	if a == nil {
		return false, nil
	}
	kept, err := c.receipt(c.r.Context(), inventory.Fresh(c.store), a)
	if err != nil || kept == nil || c.old(kept) {
		return false, err
	}
	if kept.Request != a.request {
		return false, &httpx.Error{
			Status:  http.StatusUnprocessableEntity,
			Message: "Idempotency-Key was sent with another request before: use a new key for a new request",
			Fields:  []httpx.FieldError{{Field: "Idempotency-Key", Reason: "belongs to another request: use a new one"}},
		}
	}
	c.w.Header().Set("Idempotent-Replayed", "true")
	c.created(&answer{status: int(kept.Status), tag: tagIn(kept.Body), body: []byte(kept.Body)}, kept.Location)
	return true, nil
}

// tagIn is the entity tag of the record that a body is, "" if it is none.
func tagIn(body string) string {
	var rec inventory.Base
	if json.Unmarshal([]byte(body), &rec) != nil || rec.ID == "" {
		return ""
	}
	return httpx.VersionTag(rec.ID, rec.Version)
}

// receipt is what was kept of an attempt, nil if there is nothing.
func (c *call) receipt(ctx context.Context, from inventory.Reader, a *attempt) (*inventory.IdempotencyRecord, error) {
	q := &inventory.Query{Resource: inventory.Of[inventory.IdempotencyRecord](), Limit: 1}
	page, err := from.List(ctx, q.Where("owner", a.owner).Where("key", a.key))
	if err != nil || len(page.Records) == 0 {
		return nil, err
	}
	return page.Records[0].(*inventory.IdempotencyRecord), nil
}

// old reports whether a receipt no longer counts.
func (c *call) old(kept *inventory.IdempotencyRecord) bool {
	return c.opts.Now().Sub(kept.CreatedAt) >= receiptLifetime
}

// keep adds the receipt to the transaction, and takes old ones away.
func (c *call) keep(ctx context.Context, tx inventory.Tx, a *attempt, made *answer) error {
	if a == nil {
		return nil
	}
	kept, err := c.receipt(ctx, tx, a)
	if err != nil {
		return err
	}
	if kept != nil && c.old(kept) {
		if err := tx.Delete(ctx, inventory.Of[inventory.IdempotencyRecord](), kept.ID, kept.Version); err != nil {
			return err
		}
	}
	if err := c.prune(ctx, tx); err != nil {
		return err
	}
	kept = &inventory.IdempotencyRecord{
		Owner: a.owner, Key: a.key, Request: a.request,
		Status: int64(made.status), Location: c.locationOf(made), Body: string(made.body),
	}
	if err := c.changes.Init(kept); err != nil {
		return err
	}
	return tx.Create(ctx, kept)
}

// prune takes some receipts away that are old, or too many. Their ids are in the order of
// their age.
func (c *call) prune(ctx context.Context, tx inventory.Tx) error {
	page, err := tx.List(ctx, &inventory.Query{Resource: inventory.Of[inventory.IdempotencyRecord](), Limit: pruned, Count: true})
	if err != nil {
		return err
	}
	for i, rec := range page.Records {
		kept := rec.(*inventory.IdempotencyRecord)
		if !c.old(kept) && page.Total-int64(i) < maxReceipts {
			break
		}
		if err := tx.Delete(ctx, inventory.Of[inventory.IdempotencyRecord](), kept.ID, kept.Version); err != nil {
			return err
		}
	}
	return nil
}
