package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// create serves POST of one record, or of an array of records, which are created atomically.
func (c *call) create() error {
	r := c.resource()
	body, err := httpx.ReadBody(c.r, 0) // readMany and readOne read it again
	if err != nil {
		return err
	}
	many := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	recs, plain := c.decodePlain(r, body)
	respond := func() *created {
		if many {
			return &created{body: c.appendResults(nil, "create", "created", r, recs)}
		}
		rec := recs[0]
		return &created{
			location: c.location(rec.Meta().ID), tag: tagOf(rec),
			body: c.encoders.Of(r).Append(nil, rec),
		}
	}
	if plain {
		return c.createOnce(body, func(v *records.Engine) error { return v.Create(c.r.Context(), c.caller(), recs...) }, respond)
	}
	var items []records.Patch
	if many {
		items, err = c.readMany()
	} else {
		var p records.Patch
		p, err = c.readOne()
		items = []records.Patch{p}
	}
	if err != nil {
		return err
	}
	body = withoutPasswords(r, body, items)
	hashes, err := c.hashNew(r, items)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(items, r.HasNaturalKeys) {
		if recs, err = c.decodeDrafts(r, items, hashes); err != nil {
			return err
		}
		return c.createOnce(body, func(v *records.Engine) error { return v.Create(c.r.Context(), c.caller(), recs...) }, respond)
	}
	return c.createOnce(body, func(v *records.Engine) error {
		return c.resolving(v, r, items, func(ctx context.Context, in *records.Engine, items []records.Patch) (err error) {
			if recs, err = c.decodeDrafts(r, items, hashes); err == nil {
				err = in.Create(ctx, c.caller(), recs...)
			}
			return err
		})
	}, respond)
}

// The bounds of a body that decodePlain reads.
const (
	maxPlainValues = 20_000
	plainValueCost = 192 // memory in bytes
)

// decodePlain decodes an array of records of usual values (records.Resource.Decode). It returns
// false for all that is to be decoded step by step, to find what is wrong with it.
func (c *call) decodePlain(r *records.Resource, body []byte) (recs []records.Record, ok bool) {
	if c.r.Header.Get("Content-Type") != "application/json" || c.r.Header.Get("Content-Encoding") != "" || isUsers(r) {
		return nil, false
	}
	values := bytes.Count(body, []byte{','})
	if values > maxPlainValues || httpx.Reserve(c.r.Context(), int64(len(body)+values*plainValueCost)) != nil {
		return nil, false
	}
	recs, ok = r.Decode(string(body))
	return recs, ok && checkItems(len(recs)) == nil
}

// withoutPasswords returns the body by which a repeated request with an Idempotency-Key is
// recognized. It omits passwords, so that the store has no fast hash of them.
func withoutPasswords(r *records.Resource, body []byte, items []records.Patch) []byte {
	if !isUsers(r) {
		return body
	}
	without := make([]records.Patch, len(items))
	for i, item := range items {
		without[i] = maps.Clone(item)
		delete(without[i], "password")
	}
	body, _ = json.Marshal(without) // it was decoded from JSON
	return body
}

// decodeDrafts returns the records that objects describe, and new users with the hashes of their passwords. The error
// has every invalid one.
func (c *call) decodeDrafts(r *records.Resource, items []records.Patch, hashes []hash) ([]records.Record, error) {
	var failed []records.ItemError
	recs, errs := make([]records.Record, len(items)), make([]error, len(items))
	users, wrong := isUsers(r), false
	for i, item := range items {
		recs[i], errs[i] = r.Draft(item)
		wrong = wrong || errs[i] != nil
	}
	for i, rec := range recs {
		err := errs[i]
		if err == nil && len(items) > 1 && (wrong || users) {
			// Create validates too; doing so here as well reports all problems at once.
			err = r.CheckNew(records.Clone(rec))
		}
		if u, ok := rec.(*inventory.User); ok && err == nil {
			err = c.setHash(u, hashes[i])
		}
		if failed, err = records.AppendItemError(failed, i, "", err); err != nil {
			return nil, err
		}
	}
	return recs, records.JoinItemErrors(r, failed, len(items))
}

// editFunc changes a record.
type editFunc = func(rec records.Record) error

// changeOne serves PATCH of one record.
func (c *call) changeOne() error { return c.edit(c.resource(), c.patch) }

// replace serves PUT of one record.
func (c *call) replace() error { return c.edit(c.resource(), c.replacement) }

// replacement returns the change of a PUT.
func (c *call) replacement(r *records.Resource, id string, p records.Patch, h hash) (editFunc, error) {
	sent, present, err := pop[string](p, "id", records.WrongKind(records.Text))
	if err != nil {
		return nil, err
	}
	if present && !strings.EqualFold(sent, id) {
		return nil, badField("id", records.Inconsistent(id+", as in the path, or omitted"))
	}
	if isUsers(r) {
		return c.replaceUser(p, h)
	}
	rec, err := r.Draft(p)
	if err != nil {
		return nil, err
	}
	return r.Replacement(rec), nil
}

// planFunc returns the change of a record for what was sent. It may be called in the transaction of the change.
type planFunc = func(r *records.Resource, id string, p records.Patch, h hash) (editFunc, error)

// edit applies a change to the record of the path and responds with the result.
func (c *call) edit(r *records.Resource, plan planFunc) error {
	p, err := c.readOne()
	if err != nil {
		return err
	}
	id, err := c.id()
	if err != nil {
		return err
	}
	h := c.hashOf(r, id, p)
	if h.err != nil {
		return h.err
	}
	var apply editFunc
	change := records.Edit{ID: id, ActionOf: actionOf, Apply: func(rec records.Record) error {
		if err := c.checkPreconditions(rec); err != nil {
			return err
		}
		return apply(rec)
	}}
	var done []records.Record
	if r.HasNaturalKeys(p) {
		err = c.resolving(c.inventory(), r, []records.Patch{p}, func(ctx context.Context, in *records.Engine, items []records.Patch) (err error) {
			if apply, err = plan(r, id, items[0], h); err == nil {
				done, err = in.Update(ctx, c.caller(), r, change)
			}
			return err
		})
	} else if apply, err = plan(r, id, p, h); err == nil {
		done, err = c.inventory().Update(c.r.Context(), c.caller(), r, change)
	}
	switch {
	case err != nil:
		return err
	case c.dryRun:
		return c.sendPreview("")
	}
	if err := c.usersChanged(r, done...); err != nil {
		return err
	}
	c.sendRecord(r, done[0])
	return nil
}

// patch returns the change of a partial update. Users have rules of their own.
func (c *call) patch(r *records.Resource, _ string, p records.Patch, h hash) (editFunc, error) {
	if !isUsers(r) {
		return r.Patch(p), nil
	}
	return c.userEdit(r.Patch(p), h), nil
}

// changeMany serves PATCH of several records, which is applied atomically.
func (c *call) changeMany() error {
	r := c.resource()
	items, err := c.readMany()
	if err != nil {
		return err
	}
	if err := checkPasswordCount(r, items); err != nil {
		return err
	}
	return c.editMany(r, items, c.patch)
}

// editMany applies a change to each item and responds with the results.
func (c *call) editMany(r *records.Resource, items []records.Patch, plan planFunc) error {
	var done []records.Record
	hashes := make([]hash, len(items))
	for i, p := range items {
		var id string
		_ = json.Unmarshal(p["id"], &id) // planItem reports an invalid one
		if hashes[i] = c.hashOf(r, id, p); hashes[i].err != nil && records.KindOf(hashes[i].err) == 0 {
			return hashes[i].err
		}
	}
	err := c.resolving(c.inventory(), r, items, func(ctx context.Context, in *records.Engine, items []records.Patch) error {
		var edits []records.Edit
		for i, p := range items {
			e, err := planItem(r, p, hashes[i], plan)
			if records.KindOf(err) != 0 {
				e.Apply = func(records.Record) error { return err } // reported with those of the other items
			} else if err != nil {
				return err
			}
			edits = append(edits, e)
		}
		var err error
		done, err = in.Update(ctx, c.caller(), r, edits...)
		return err
	})
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	if err := c.usersChanged(r, done...); err != nil {
		return err
	}
	c.send(http.StatusOK, func(b []byte) []byte { return c.appendResults(b, "update", "updated", r, done) })
	return nil
}

// planItem returns the edit of one item.
func planItem(r *records.Resource, p records.Patch, h hash, plan planFunc) (records.Edit, error) {
	e := records.Edit{ActionOf: actionOf}
	var err error
	if e.ID, _, err = pop[string](p, "id", records.WrongKind(records.Text)); err != nil {
		return e, err
	}
	if e.Version, err = popVersion(p); err != nil {
		return e, err
	}
	if h.err != nil {
		return e, h.err
	}
	e.Apply, err = plan(r, e.ID, p, h)
	return e, err
}

// deleteOne serves DELETE of one record.
func (c *call) deleteOne() error {
	r := c.resource()
	if err := c.remove(r, nil); err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	return c.confirm(r.Label + " deleted successfully")
}

// remove deletes the record of the path, with a check if it is not nil. It does not respond.
func (c *call) remove(r *records.Resource, check func(records.Record) error) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	edit := records.Edit{ID: id, Apply: func(rec records.Record) error {
		if err := c.checkPreconditions(rec); err != nil {
			return err
		}
		if check != nil {
			if err := check(rec); err != nil {
				return err
			}
		}
		return c.checkDelete(rec)
	}}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edit); err != nil {
		return err
	}
	if !c.dryRun {
		c.forgetIDs(r, id)
	}
	return nil
}

// deleteMany serves DELETE of several records, which is applied atomically.
func (c *call) deleteMany() error {
	r := c.resource()
	edits, err := c.readDeletions()
	if err != nil {
		return err
	}
	ids := make([]string, len(edits))
	for i := range edits {
		ids[i] = edits[i].ID
		if edits[i].Apply == nil {
			edits[i].Apply = c.checkDelete
		}
	}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edits...); err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	c.forgetIDs(r, ids...)
	c.send(http.StatusOK, func(b []byte) []byte {
		b = append(appendBulk(b, "delete", "deleted", len(ids)), '[')
		for i, id := range ids {
			if i > 0 {
				b = append(b, ',')
			}
			b = encode.String(b, id)
		}
		return append(b, "]}"...)
	})
	return nil
}

// appendResults appends the response to a bulk request: the records in the order of the
// items.
func (c *call) appendResults(b []byte, verb, done string, r *records.Resource, recs []records.Record) []byte {
	b = appendBulk(b, verb, done, len(recs))
	b = c.encoders.Of(r).AppendAll(b, recs)
	return append(b, '}')
}

// appendBulk appends the response to a bulk request up to the results.
func appendBulk(b []byte, verb, done string, n int) []byte {
	b = append(b, `{"status":"success","message":"Bulk `...)
	b = append(b, verb...)
	b = append(b, ` completed successfully","`...)
	b = append(b, done...)
	b = append(b, `":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, `,"results":`...)
}

// resolving calls do with an engine and the objects of a request. If they have natural keys
// (REFERENCE.md, 1.9), they get ids in place of them, in the transaction of the engine, which may call
// do more than once, each time with other copies.
func (c *call) resolving(v *records.Engine, r *records.Resource, items []records.Patch, do func(ctx context.Context, in *records.Engine, items []records.Patch) error) error {
	if !slices.ContainsFunc(items, r.HasNaturalKeys) {
		return do(c.r.Context(), v, items)
	}
	for _, item := range items {
		for name := range item {
			if f, ok := r.ByMember(name); !ok {
				continue
			} else if err := c.mayUse(f.Ref.Resource(), records.RouteList); err != nil {
				return err
			}
		}
	}
	return v.Together(c.r.Context(), func(ctx context.Context, in *records.Engine) error {
		own := make([]records.Patch, len(items))
		for i, item := range items {
			own[i] = maps.Clone(item)
		}
		wrong, err := in.Resolve(ctx, r, own)
		if err == nil {
			err = records.JoinItemErrors(r, wrong, len(items))
		}
		if err != nil {
			return err
		}
		return do(ctx, in, own)
	})
}
