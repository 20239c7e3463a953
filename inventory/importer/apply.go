package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

var (
	errAgain = errors.New("some rows failed: the transaction runs again without them")
	errStop  = errors.New("some rows failed: nothing is changed")
)

// apply applies rows in one transaction, and returns those that wait for records that they refer to,
// which are rejected if last says that no further rows follow.
func (m *run) apply(ctx context.Context, rows []*Row, last bool) (waiting []*Row, err error) {
	if !m.together { // else they have been checked
		if rows, err = m.check(ctx, rows); err != nil {
			return nil, err
		}
	}
	for range maxPasses {
		var p *pass
		err := m.engine.Together(ctx, func(ctx context.Context, in *records.Engine) error {
			p = &pass{run: m, in: in, seen: map[string]*position{}, bad: map[*Row][]Problem{}, ids: map[string]string{}}
			return p.attempt(ctx, rows, last)
		})
		if err != nil && !errors.Is(err, errAgain) && !errors.Is(err, errStop) {
			return nil, err
		}
		if err := m.rejectAll(rows, p.bad); err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(slices.Clone(rows), func(row *Row) bool { return p.bad[row] != nil })
		if !errors.Is(err, errAgain) {
			m.keep(p, len(rows))
			return p.waiting, nil
		}
	}
	return nil, fmt.Errorf("importer: rows fail each other %d times in a row", maxPasses)
}

// rejectAll reports the rows that a pass has refused.
func (m *run) rejectAll(rows []*Row, bad map[*Row][]Problem) error {
	refused := slices.DeleteFunc(slices.Clone(rows), func(row *Row) bool { return bad[row] == nil })
	for some := range slices.Chunk(refused, batchRows) {
		if err := load(some); err != nil {
			return err
		}
		for _, row := range some {
			if err := m.reject(row, bad[row]); err != nil {
				return err
			}
			if m.report.Rejected < maxWaiting {
				row.page = nil // others may refer to it
			}
		}
		unload(some)
	}
	return nil
}

// keep adds a pass that was not refused, with its number of rows, to the report.
func (m *run) keep(p *pass, rows int) {
	m.report.Created, m.report.Updated, m.report.Unchanged = m.report.Created+p.created, m.report.Updated+p.updated, m.report.Unchanged+p.unchanged
	m.report.Deleted += p.deleted
	m.report.Changes = append(m.report.Changes, p.changes...)
	m.report.Truncated = m.report.Truncated || p.more
	for key, at := range p.seen {
		m.seen.add(key, at)
	}
	maps.Copy(m.ids, p.ids)
	m.applied += int64(rows - len(p.waiting))
	m.progress(0, 0)
}

// check rejects the rows that Options.Check finds.
func (m *run) check(ctx context.Context, rows []*Row) ([]*Row, error) {
	for m.opts.Check != nil && len(rows) > 0 {
		i, reason, err := m.opts.Check(ctx, rows)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			break
		}
		if err := m.reject(rows[i], []Problem{rows[i].problem("", reason)}); err != nil {
			return nil, err
		}
		rows = slices.Delete(slices.Clone(rows), i, i+1)
	}
	return rows, nil
}

// pass is one attempt to apply rows.
type pass struct {
	*run
	in      *records.Engine
	seen    map[string]*position
	bad     map[*Row][]Problem
	waiting []*Row
	written []*Row            // in the order of the items of the engine's calls
	failed  bool              // the transaction must not be committed
	ids     map[string]string // of the records of rows with other ids, by these
	tried   int               // rows

	created, updated, unchanged, deleted int64

	changes []*records.AuditLog
	more    bool // than the changes
}

// attempt applies rows in a transaction. The error is errAgain or errStop if it must not be committed.
func (p *pass) attempt(ctx context.Context, rows []*Row, last bool) error {
	if err := p.all(ctx, rows, last); err != nil {
		return err
	}
	whole := p.report.Rejected+int64(len(p.bad)) == 0
	if p.opts.Prune && !p.failed && whole {
		if err := p.prune(ctx, rows); err != nil {
			return err
		}
	}
	if !p.failed && (whole || !p.opts.Prune) {
		if err := p.outcome(p.written, p.in.Settle(ctx)); err != nil {
			return err
		}
	}
	switch {
	case p.failed:
		return errAgain
	case p.opts.OnError == Stop && p.report.Rejected+int64(len(p.bad)) > 0:
		return errStop
	}
	return nil
}

// all applies rows by resource, those that others refer to first.
func (p *pass) all(ctx context.Context, rows []*Row, last bool) error {
	byOrder := sortByOrder(rows, func(row *Row) *records.Resource { return row.Resource }, p.order)
	for len(byOrder) > 0 {
		n := slices.IndexFunc(byOrder, func(row *Row) bool { return row.Resource != byOrder[0].Resource })
		if n < 0 {
			n = len(byOrder)
		}
		if err := p.resource(ctx, byOrder[0].Resource, byOrder[:n]); err != nil {
			return err
		}
		byOrder = byOrder[n:]
	}
	waits := map[*Row]bool{}
	for some := range slices.Chunk(p.waiting, batchRows) {
		if err := load(some); err != nil {
			return err
		}
		for _, row := range some {
			waits[row] = true
			if last && !p.failed { // else the record may be there in the next pass
				p.bad[row] = row.andFaults(slices.Clone(row.pending))
			}
		}
		unload(some)
	}
	return p.rejectReferring(ctx, rows, waits)
}

// resource applies the rows of a resource, which may refer to each other.
func (p *pass) resource(ctx context.Context, r *records.Resource, rows []*Row) error {
	for {
		var waiting []*Row
		for chunk := range slices.Chunk(rows, batchRows) {
			later, err := p.chunk(ctx, r, chunk)
			if err != nil {
				return err
			}
			waiting, p.tried = append(waiting, later...), p.tried+len(chunk)-len(later)
			p.progress(p.tried-len(p.bad), len(p.bad))
		}
		if len(waiting) == 0 || len(waiting) == len(rows) {
			p.waiting = append(p.waiting, waiting...)
			return nil
		}
		rows = waiting
	}
}

// chunk applies up to batchRows rows, and returns those whose references are not there.
func (p *pass) chunk(ctx context.Context, r *records.Resource, rows []*Row) ([]*Row, error) {
	if err := load(rows); err != nil {
		return nil, err
	}
	defer func(rows []*Row) {
		for _, row := range rows {
			if p.bad[row] != nil && len(p.bad) < maxWaiting {
				row.page = nil // others may refer to it
			}
		}
		unload(rows)
	}(rows)
	rows, patches, waiting, err := p.resolve(ctx, r, rows)
	if err != nil {
		return nil, err
	}
	if p.mayRead(r) != nil { // nor learn what exists
		if err := p.may(r, records.RouteCreate); err != nil {
			return nil, err
		}
	}
	found, keys, wrong, err := p.in.Find(ctx, r, patches, func(id string) bool { return p.rowOf(shortKey(id)) != nil })
	if err != nil {
		return nil, err
	}
	failed := map[int]bool{}
	for _, item := range wrong {
		failed[item.Index] = true
		p.bad[rows[item.Index]] = rows[item.Index].problemsOf(item.Err)
	}
	for i, row := range rows {
		if failed[i] {
			continue
		}
		if at := p.first(keys[i], row); at != nil {
			failed[i] = true
			p.bad[row] = []Problem{row.problem("", fmt.Sprintf("is for the same record as line %d of %s: keep one of the two", at.line, at.file))}
		}
	}
	return waiting, p.store(ctx, r, without(rows, failed), without(patches, failed), without(found, failed))
}

// resolve returns the rows whose references are there, with their patches, which have ids in place of keys, and those
// whose references are not.
func (p *pass) resolve(ctx context.Context, r *records.Resource, rows []*Row) (resolved []*Row, patches []records.Patch, waiting []*Row, err error) {
	patches = make([]records.Patch, len(rows))
	for i, row := range rows {
		patches[i] = p.translated(row)
		for name := range patches[i] {
			if f, ok := r.ByMember(name); !ok {
				continue
			} else if err := p.may(f.Ref.Resource(), records.RouteList); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	wrong, err := p.in.Resolve(ctx, r, patches)
	if err == nil {
		wrong, err = p.narrow(ctx, r, rows, patches, wrong)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	failed := map[int]bool{}
	for _, item := range wrong {
		row := rows[item.Index]
		if len(row.Problems) > 0 {
			row.Problems = append(row.Problems, row.problemsOf(item.Err)...)
			continue
		}
		failed[item.Index] = true
		if key, ok := errors.AsType[*records.UnresolvedKey](error(item.Err)); ok && !key.Several {
			row.pending = row.problemsOf(item.Err)
			waiting = append(waiting, row)
			continue
		}
		p.bad[row] = row.andFaults(row.problemsOf(item.Err))
	}
	for i, row := range rows {
		if len(row.Problems) > 0 {
			failed[i], p.bad[row] = true, row.andFaults(row.Problems)
		}
	}
	return without(rows, failed), without(patches, failed), waiting, nil
}

// narrow resolves the rows again in which a name is that of several records: of the racks with it, the row of a device means
// that at its location. It returns what is still wrong.
func (p *pass) narrow(ctx context.Context, r *records.Resource, rows []*Row, patches []records.Patch, wrong []records.ItemError) (rest []records.ItemError, err error) {
	var again []records.Patch
	var of []records.ItemError
	for _, item := range wrong {
		key, ok := errors.AsType[*records.UnresolvedKey](error(item.Err))
		if patch := p.translated(rows[item.Index]); ok && key.Several && narrowed(r, patch) {
			again, of = append(again, patch), append(of, item)
		} else {
			rest = append(rest, item)
		}
	}
	if len(again) == 0 {
		return rest, nil
	}
	still, err := p.in.Resolve(ctx, r, again)
	for i, item := range of {
		if slices.ContainsFunc(still, func(e records.ItemError) bool { return e.Index == i }) {
			rest = append(rest, item)
		} else {
			patches[item.Index] = again[i]
		}
	}
	return rest, err
}

// narrowed adds what a patch refers to itself to the natural keys in it that consist of a name, and reports whether it does.
func narrowed(r *records.Resource, patch records.Patch) (done bool) {
	for name, doc := range maps.Clone(patch) {
		f, ok := r.ByMember(name)
		if !ok || empty(doc) || doc[0] != '"' {
			continue
		}
		to, key := f.Ref.Resource(), map[string]json.RawMessage{}
		for _, part := range to.KeyMembers() {
			theirs, isRef := to.ByMember(part)
			if own, ok := r.ByMember(part); ok && isRef && own.Ref.To == theirs.Ref.To && part != name && !empty(patch[part]) {
				key[part] = patch[part]
			}
		}
		if len(key) > 0 && naming(to) != nil {
			key[naming(to).Name], done = doc, true
			patch[name], _ = json.Marshal(key) // of documents, so it is valid
		}
	}
	return done
}

// first notes that a row is for a record, and returns where an earlier row was for it, or nil.
func (p *pass) first(key string, row *Row) *position {
	short := shortKey(key)
	if at := p.rowOf(short); at != nil {
		return at
	}
	p.seen[short] = &position{row.File, row.Line}
	return nil
}

// note notes the id of the record of a row that has another one: of an export of another inventory, say.
func (p *pass) note(row *Row, id string) {
	if sent := strings.ToLower(textOf(row.Patch["id"])); records.ValidID(sent) && sent != id && len(p.run.ids)+len(p.ids) < maxSeen {
		p.ids[sent] = id
	}
}

// quotedID is an id in JSON.
var quotedID = regexp.MustCompile(`"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"`)

// translated returns the patch of a row, whose references to the ids of rows are those to their records.
func (p *pass) translated(row *Row) records.Patch {
	patch := row.patch()
	if len(p.run.ids)+len(p.ids) == 0 {
		return patch
	}
	for name, doc := range patch {
		f, ok := row.Resource.Field(name)
		if _, member := row.Resource.ByMember(name); !member && (!ok || f.Ref == nil) {
			continue
		}
		patch[name] = quotedID.ReplaceAllFunc(doc, func(quoted []byte) []byte {
			sent := strings.ToLower(string(quoted[1 : len(quoted)-1]))
			if id := cmp.Or(p.ids[sent], p.run.ids[sent]); id != "" {
				return []byte(`"` + id + `"`)
			}
			return quoted
		})
	}
	return patch
}

// rowOf returns where a row was for a record, or nil.
func (p *pass) rowOf(short string) *position {
	return cmp.Or(p.seen[short], p.run.seen.now[short], p.run.seen.before[short])
}

// shortKey returns a key of fixed size.
func shortKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return string(sum[:16])
}

// store creates and changes the records of rows.
func (p *pass) store(ctx context.Context, r *records.Resource, rows []*Row, patches []records.Patch, found []records.Record) error {
	var news []records.Record
	var edits []records.Edit
	var ofNews, ofEdits []*Row
	for i, row := range rows {
		delete(patches[i], "id")
		before, rec, check := found[i], r.New(), r.CheckNew
		if before != nil {
			if err := p.mayRead(r); err != nil {
				return err
			}
		}
		switch {
		case before != nil && p.opts.New:
			p.bad[row] = []Problem{row.problem("", "is for a record that exists, with the id "+before.Meta().ID)}
			continue
		case before != nil:
			p.note(row, before.Meta().ID)
			rec, check = records.Clone(before), r.Check
		}
		err := r.Patch(patches[i])(rec)
		if err == nil {
			err = check(rec)
		}
		e, invalid := errors.AsType[*records.Error](err)
		switch {
		case invalid:
			p.bad[row] = row.andFaults(row.problemsOf(e))
		case err != nil:
			return err
		case before == nil:
			news, ofNews = append(news, rec), append(ofNews, row)
		case len(r.Diff(before, rec)) == 0:
			p.unchanged++
		default:
			edits, ofEdits = append(edits, records.Edit{ID: before.Meta().ID, Apply: r.Patch(patches[i])}), append(ofEdits, row)
		}
	}
	return p.write(ctx, r, news, ofNews, edits, ofEdits)
}

// write calls the engine.
func (p *pass) write(ctx context.Context, r *records.Resource, news []records.Record, ofNews []*Row, edits []records.Edit, ofEdits []*Row) error {
	if len(news) > 0 {
		if err := p.may(r, records.RouteCreate); err != nil {
			return err
		}
		p.written = append(p.written, ofNews...)
		err := p.in.Create(ctx, p.opts.By, news...)
		if err := p.outcome(ofNews, err); err != nil {
			return err
		}
		for i, rec := range news {
			p.first(rec.Meta().ID, ofNews[i])
			p.note(ofNews[i], rec.Meta().ID)
		}
		p.created += int64(len(news))
	}
	if len(edits) > 0 {
		if err := p.may(r, records.RouteChange); err != nil {
			return err
		}
		p.written = append(p.written, ofEdits...)
		_, err := p.in.Update(ctx, p.opts.By, r, edits...)
		if err := p.outcome(ofEdits, err); err != nil {
			return err
		}
		p.updated += int64(len(edits))
	}
	p.drain()
	return nil
}

// drain keeps the changes of a dry run.
func (p *pass) drain() {
	if p.preview != nil {
		changes := slices.DeleteFunc(p.preview.Drain(), func(e *records.AuditLog) bool {
			return !slices.ContainsFunc(p.schema.Resources(), func(r *records.Resource) bool { return r.Kind() == e.ResourceType && p.mayRead(r) == nil })
		})
		most := min(len(changes), p.opts.MaxChanges-len(p.run.report.Changes)-len(p.changes))
		p.changes, p.more = append(p.changes, changes[:most]...), p.more || most < len(changes)
	}
}

// prune deletes the records of the resources of rows that no row is for, those that refer to others first.
func (p *pass) prune(ctx context.Context, rows []*Row) error {
	resources := p.schema.Resources()
	for _, r := range slices.Backward(resources) {
		if !slices.ContainsFunc(rows, func(row *Row) bool { return row.Resource == r }) {
			continue
		}
		var extra []records.Edit
		for rec, err := range records.All(ctx, p.in, &records.Query{Resource: r, Limit: batchRows}) {
			if err != nil {
				return err
			}
			if p.seen[shortKey(rec.Meta().ID)] == nil {
				extra = append(extra, records.Edit{ID: rec.Meta().ID})
			}
		}
		if len(extra) == 0 {
			continue
		}
		if err := p.may(r, records.RouteDelete); err != nil {
			return err
		}
		if len(extra) > p.opts.MaxRows {
			return &records.Error{Kind: records.Invalid, Message: fmt.Sprintf("%d of %s would be deleted, which are more than the %d that one transaction changes", len(extra), r.Name, p.opts.MaxRows)}
		}
		for chunk := range slices.Chunk(extra, batchRows) {
			if err := p.in.Delete(ctx, p.opts.By, r, chunk...); err != nil {
				return err
			}
		}
		p.deleted += int64(len(extra))
		p.drain()
	}
	return nil
}

// outcome notes the rows that a call of the engine has refused, and returns errors that are not about
// rows.
func (p *pass) outcome(rows []*Row, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*records.Error](err)
	switch {
	case !ok || e.Kind == records.Unavailable || e.Kind == records.Full || e.Kind == records.Forbidden || e.Kind == records.Unauthenticated:
		return err
	case len(e.Items) > 0:
		for _, item := range e.Items {
			row := rows[item.Index]
			if row.Patch == nil { // it is of an earlier call
				if err := load([]*Row{row}); err != nil {
					return err
				}
				row.page = nil // others may refer to it
			}
			p.bad[row] = row.problemsOf(item.Err)
		}
	case len(rows) == 1:
		p.bad[rows[0]] = rows[0].problemsOf(e)
	default:
		return err
	}
	p.failed = true
	return nil
}

// without returns the elements whose index is not in a set.
func without[T any](all []T, these map[int]bool) []T {
	if len(these) == 0 {
		return all
	}
	var rest []T
	for i, v := range all {
		if !these[i] {
			rest = append(rest, v)
		}
	}
	return rest
}

// andFaults adds further cells with wrong values to what is wrong with a row.
func (row *Row) andFaults(problems []Problem) []Problem {
	rest := maps.Clone(row.Patch)
	maps.DeleteFunc(rest, func(name string, _ json.RawMessage) bool {
		f, ok := row.Resource.Field(name)
		return !ok || f.ReadOnly || f.Member != "" // references are looked up
	})
	for range 2 { // values of the wrong type hide others
		rec := row.Resource.New()
		err := row.Resource.Patch(rest)(rec)
		if err == nil {
			err = row.Resource.Check(rec)
		}
		e, ok := errors.AsType[*records.Error](err)
		if !ok {
			break
		}
		for i, p := range row.problemsOf(e) {
			known := slices.ContainsFunc(problems, func(other Problem) bool { return other.Column == p.Column })
			name, _, _ := strings.Cut(e.Fields[i].Field, "[")
			if _, sent := rest[name]; sent && !known {
				problems = append(problems, p)
			}
			delete(rest, name)
		}
	}
	return problems
}

// patch returns what the row changes: no fields that clients can't set, and of an id and a natural key the one that has
// a value.
func (row *Row) patch() records.Patch {
	p := maps.Clone(row.Patch)
	for name := range row.Patch {
		f, ok := row.Resource.Field(name)
		if ok && f.ReadOnly && name != "id" || strings.HasPrefix(name, "_") {
			delete(p, name)
		}
		switch f, ok := row.Resource.ByMember(name); {
		case !ok:
		case empty(p[f.Name]), string(p[f.Name]) == string(p[name]): // a name in place of an id
			delete(p, f.Name)
		case empty(p[name]):
			delete(p, name)
		}
	}
	return p
}
