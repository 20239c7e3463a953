package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// create serves POST of one record, or of an array of records, which are created atomically.
func (c *call) create() (*feature.Response, error) {
	r := c.resource()
	rules := c.api.rules[r.Name]
	body, err := httpx.ReadBody(c.r, 0) // readMany and readOne read it again
	if err != nil {
		return nil, err
	}
	many := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	var recs []records.Record
	plain := false
	if rules == nil {
		recs, plain = c.decodePlain(r, body)
	}
	respond := func() *created {
		if many {
			return &created{body: c.appendResults(nil, "create", "created", r, recs)}
		}
		rec := recs[0]
		return &created{
			location: httpx.SentPath(c.r) + "/" + rec.Meta().ID, tag: tagOf(rec),
			body: c.api.encoders.Of(r).Append(nil, rec),
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
		return nil, err
	}
	var finish []func(records.Record) error // with rules, for each item
	if rules != nil {
		body = withoutSecrets(rules, items)
		if finish, err = c.prepareNew(rules, items); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(items, r.HasNaturalKeys) {
		if recs, err = decodeDrafts(r, items, finish); err != nil {
			return nil, err
		}
		return c.createOnce(body, func(v *records.Engine) error { return v.Create(c.r.Context(), c.caller(), recs...) }, respond)
	}
	return c.createOnce(body, func(v *records.Engine) error {
		return c.resolving(v, r, items, func(ctx context.Context, in *records.Engine, items []records.Patch) (err error) {
			if recs, err = decodeDrafts(r, items, finish); err == nil {
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
	if c.r.Header.Get("Content-Type") != "application/json" || c.r.Header.Get("Content-Encoding") != "" {
		return nil, false
	}
	values := bytes.Count(body, []byte{','})
	if values > maxPlainValues || httpx.Reserve(c.r.Context(), int64(len(body)+values*plainValueCost)) != nil {
		return nil, false
	}
	recs, ok = r.Decode(string(body))
	return recs, ok && checkItems(len(recs)) == nil
}

// withoutSecrets returns the body by which a repeated request with an Idempotency-Key is
// recognized. It omits passwords, so that the store has no fast hash of them.
func withoutSecrets(rules *feature.Rules, items []records.Patch) []byte {
	without := make([]records.Patch, len(items))
	for i, item := range items {
		without[i] = maps.Clone(item)
		for _, name := range rules.Secrets {
			delete(without[i], name)
		}
	}
	body, _ := json.Marshal(without) // it was decoded from JSON
	return body
}

// prepareNew applies the rules of a resource to new records, before the transaction.
func (c *call) prepareNew(rules *feature.Rules, items []records.Patch) (finish []func(records.Record) error, err error) {
	if err := rules.Check(items); err != nil {
		return nil, err
	}
	finish = make([]func(records.Record) error, len(items))
	for i, item := range items {
		if finish[i], err = rules.New(c.r.Context(), c.asFeature(), item); err != nil {
			return nil, err
		}
	}
	return finish, nil
}

// decodeDrafts returns the records that objects describe. finish, if not nil, completes each. The error has every invalid
// one.
func decodeDrafts(r *records.Resource, items []records.Patch, finish []func(records.Record) error) ([]records.Record, error) {
	var failed []records.ItemError
	recs, errs := make([]records.Record, len(items)), make([]error, len(items))
	wrong := false
	for i, item := range items {
		recs[i], errs[i] = r.Draft(item)
		wrong = wrong || errs[i] != nil
	}
	for i, rec := range recs {
		err := errs[i]
		if err == nil && len(items) > 1 && (wrong || finish != nil) {
			// Create validates too; doing so here as well reports all problems at once.
			err = r.CheckNew(records.Clone(rec))
		}
		if err == nil && finish != nil {
			err = finish[i](rec)
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
func (c *call) changeOne() (*feature.Response, error) { return c.edit(c.resource(), patch) }

// replace serves PUT of one record.
func (c *call) replace() (*feature.Response, error) { return c.edit(c.resource(), c.replacement) }

// replacement returns the change of a PUT.
func (c *call) replacement(r *records.Resource, id string, p records.Patch) (editFunc, error) {
	sent, present, err := records.Pop[string](p, "id", records.WrongKind(records.Text))
	if err != nil {
		return nil, err
	}
	if present && !strings.EqualFold(sent, id) {
		return nil, badField("id", records.Inconsistent(id+", as in the path, or omitted"))
	}
	draft, err := r.Draft(p)
	rules := c.api.rules[r.Name]
	if err != nil || rules == nil {
		return r.Replacement(draft), err
	}
	return func(rec records.Record) error {
		own := records.Clone(draft)
		for _, name := range rules.Keep {
			if _, sent := p[name]; !sent {
				f, _ := r.Field(name)
				f.Set(own, f.Value(rec))
			}
		}
		return r.Replacement(own)(rec)
	}, nil
}

// planFunc returns the change of a record for what was sent. It may be called in the transaction of the change.
type planFunc = func(r *records.Resource, id string, p records.Patch) (editFunc, error)

// edit applies a change to the record of the path and responds with the result.
func (c *call) edit(r *records.Resource, plan planFunc) (*feature.Response, error) {
	p, err := c.readOne()
	if err != nil {
		return nil, err
	}
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	finish, err := c.prepareEdit(r, id, p)
	if err != nil {
		return nil, err
	}
	var apply editFunc
	change := records.Edit{ID: id, Apply: func(rec records.Record) error {
		if err := c.checkPreconditions(rec); err != nil {
			return err
		}
		return finish(rec, apply)
	}}
	c.setAction(r, &change)
	var done []records.Record
	if r.HasNaturalKeys(p) {
		err = c.resolving(c.inventory(), r, []records.Patch{p}, func(ctx context.Context, in *records.Engine, items []records.Patch) (err error) {
			if apply, err = plan(r, id, items[0]); err == nil {
				done, err = in.Update(ctx, c.caller(), r, change)
			}
			return err
		})
	} else if apply, err = plan(r, id, p); err == nil {
		done, err = c.inventory().Update(c.r.Context(), c.caller(), r, change)
	}
	if err == nil {
		err = c.changed(r, done...)
	}
	if err == nil {
		done, err = records.Mask(c.r.Context(), c.store, r, done...)
	}
	if err != nil || c.dryRun {
		return &feature.Response{}, err
	}
	return &feature.Response{Tag: tagOf(done[0]), Append: func(b []byte) []byte { return c.api.encoders.Of(r).Append(b, done[0]) }}, nil
}

// finishFunc applies a change to a record, and the rules of its resource.
type finishFunc = func(rec records.Record, change editFunc) error

// prepareEdit applies the rules of a resource to what was sent about a record, before the transaction.
func (c *call) prepareEdit(r *records.Resource, id string, sent records.Patch) (finishFunc, error) {
	rules := c.api.rules[r.Name]
	if rules == nil {
		return func(rec records.Record, change editFunc) error { return change(rec) }, nil
	}
	finish, err := rules.Edit(c.r.Context(), c.asFeature(), id, sent)
	if err != nil {
		return nil, err
	}
	return func(rec records.Record, change editFunc) error {
		before := records.Clone(rec)
		c.before = append(c.before, before)
		if err := change(rec); err != nil {
			return err
		}
		return finish(before, rec)
	}, nil
}

// setAction sets the action of a change in the audit log, if the resource has rules.
func (c *call) setAction(r *records.Resource, e *records.Edit) {
	if rules := c.api.rules[r.Name]; rules != nil {
		e.ActionOf = rules.Action
	}
}

// changed completes changes of records. The response to one without an effect is a read.
func (c *call) changed(r *records.Resource, recs ...records.Record) error {
	if c.api.rules[r.Name] == nil || c.dryRun {
		return nil
	}
	read, ids := false, make([]string, len(recs))
	for i, rec := range recs {
		ids[i] = rec.Meta().ID
		read = read || slices.ContainsFunc(c.before, func(old records.Record) bool {
			return old.Meta().ID == rec.Meta().ID && old.Meta().Version == rec.Meta().Version
		})
	}
	c.api.rules[r.Name].Done(c.r.Context(), c.asFeature(), ids...)
	if read {
		return c.noteRead(r)
	}
	return nil
}

// patch returns the change of a partial update.
func patch(r *records.Resource, _ string, p records.Patch) (editFunc, error) { return r.Patch(p), nil }

// changeMany serves PATCH of several records, which is applied atomically.
func (c *call) changeMany() (*feature.Response, error) {
	items, err := c.readMany()
	if err != nil {
		return nil, err
	}
	return c.editMany(c.resource(), items, patch)
}

// editMany applies a change to each item and responds with the results.
func (c *call) editMany(r *records.Resource, items []records.Patch, plan planFunc) (*feature.Response, error) {
	if rules := c.api.rules[r.Name]; rules != nil {
		if err := rules.Check(items); err != nil {
			return nil, err
		}
	}
	finish, wrong := make([]finishFunc, len(items)), make([]error, len(items))
	for i, p := range items {
		var id string
		_ = json.Unmarshal(p["id"], &id) // planItem reports an invalid one
		if finish[i], wrong[i] = c.prepareEdit(r, id, p); wrong[i] != nil && records.KindOf(wrong[i]) == 0 {
			return nil, wrong[i]
		}
	}
	var done []records.Record
	err := c.resolving(c.inventory(), r, items, func(ctx context.Context, in *records.Engine, items []records.Patch) error {
		var edits []records.Edit
		for i, p := range items {
			e, apply, err := planItem(r, p, plan)
			err = cmp.Or(wrong[i], err)
			if err != nil && records.KindOf(err) == 0 {
				return err
			}
			e.Apply = func(rec records.Record) error {
				if err != nil { // reported with those of the other items
					return err
				}
				return finish[i](rec, apply)
			}
			c.setAction(r, &e)
			edits = append(edits, e)
		}
		var err error
		done, err = in.Update(ctx, c.caller(), r, edits...)
		return err
	})
	if err == nil {
		err = c.changed(r, done...)
	}
	if err == nil {
		done, err = records.Mask(c.r.Context(), c.store, r, done...)
	}
	return &feature.Response{Append: func(b []byte) []byte { return c.appendResults(b, "update", "updated", r, done) }}, err
}

// planItem returns the edit of one item, and its change.
func planItem(r *records.Resource, p records.Patch, plan planFunc) (e records.Edit, apply editFunc, err error) {
	if e.ID, _, err = records.Pop[string](p, "id", records.WrongKind(records.Text)); err != nil {
		return e, nil, err
	}
	if e.Version, err = popVersion(p); err != nil {
		return e, nil, err
	}
	apply, err = plan(r, e.ID, p)
	return e, apply, err
}

// deleteOne serves DELETE of one record.
func (c *call) deleteOne() (*feature.Response, error) {
	r := c.resource()
	return feature.OK(httpx.Confirm(r.Label + " deleted successfully")), c.remove(r, nil)
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
		return c.checkDelete(r, rec)
	}}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edit); err != nil {
		return err
	}
	c.deleted(r, id)
	return nil
}

// checkDelete applies the rules of a resource to the deletion of a record.
func (c *call) checkDelete(r *records.Resource, rec records.Record) error {
	if rules := c.api.rules[r.Name]; rules != nil {
		return rules.Delete(c.asFeature(), rec)
	}
	return nil
}

// deleted completes deletions of records.
func (c *call) deleted(r *records.Resource, ids ...string) {
	if rules := c.api.rules[r.Name]; rules != nil && !c.dryRun {
		rules.Done(c.r.Context(), c.asFeature(), ids...)
	}
}

// deleteMany serves DELETE of several records, which is applied atomically.
func (c *call) deleteMany() (*feature.Response, error) {
	r := c.resource()
	edits, err := c.readDeletions()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(edits))
	for i := range edits {
		ids[i] = edits[i].ID
		if edits[i].Apply == nil {
			edits[i].Apply = func(rec records.Record) error { return c.checkDelete(r, rec) }
		}
	}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edits...); err != nil {
		return nil, err
	}
	c.deleted(r, ids...)
	return &feature.Response{Append: func(b []byte) []byte {
		b = append(appendBulk(b, "delete", "deleted", len(ids)), '[')
		for i, id := range ids {
			if i > 0 {
				b = append(b, ',')
			}
			b = encode.String(b, id)
		}
		return append(b, "]}"...)
	}}, nil
}

// appendResults appends the response to a bulk request: the records in the order of the
// items.
func (c *call) appendResults(b []byte, verb, done string, r *records.Resource, recs []records.Record) []byte {
	b = appendBulk(b, verb, done, len(recs))
	b = c.api.encoders.Of(r).AppendAll(b, recs)
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
