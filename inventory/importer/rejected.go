package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxNamesakes bounds the rejected rows with one name that references are compared with.
const maxNamesakes = 100

// rejected are rejected rows by the names of their records.
type rejected map[string][]*Row

// add adds a row.
func (all rejected) add(row *Row) {
	if row.Resource == nil {
		return
	}
	for _, name := range namesOf(row.Resource, row.Patch, row) {
		if of := all[name]; len(of) < maxNamesakes && len(all) < maxWaiting {
			all[name] = append(slices.Clip(of), row)
		}
	}
}

// namesOf returns the values that name a record, each with the owner, such as the device of an interface. Without one in
// the key it is that of the row with the key.
func namesOf(r *records.Resource, key map[string]json.RawMessage, row *Row) (names []string) {
	owner := ""
	for _, name := range r.KeyMembers() {
		if f, ok := r.ByMember(name); ok && f.Required {
			doc := key[name]
			if doc == nil {
				doc = row.Patch[name]
			}
			owner += "\n" + textOf(doc)
		}
	}
	for _, f := range r.ShortKeys() {
		if !empty(key[f.Name]) {
			names = append(names, r.Name+"\n"+textOf(key[f.Name])+owner)
		}
	}
	return names
}

// textOf returns a text, or other JSON in one form.
func textOf(doc json.RawMessage) string {
	var v any
	_ = json.Unmarshal(doc, &v) // what is wrong with it is reported elsewhere
	if text, ok := v.(string); ok {
		return strings.TrimSpace(text)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// empty reports whether there is no value.
func empty(doc json.RawMessage) bool {
	doc = bytes.TrimSpace(doc)
	return len(doc) == 0 || string(doc) == "null" || string(doc) == `""`
}

// rejectReferring rejects the rows that refer to rejected rows: their references may fit other records. Rows that wait are
// rejected already, or have no record to attach to.
func (p *pass) rejectReferring(ctx context.Context, rows []*Row, waits map[*Row]bool) error {
	all := rejected{}
	maps.Copy(all, p.run.failed)
	for _, row := range rows {
		if p.bad[row] != nil {
			all.add(row)
		}
	}
	explained := map[*Row]bool{}
	for more := len(all) > 0; more; {
		more = false
		for some := range slices.Chunk(rows, batchRows) {
			if err := load(some); err != nil {
				return err
			}
			n, err := p.rejectSome(ctx, some, waits, explained, all)
			if unload(some); err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(row *Row) bool { return p.bad[row] != nil })
	return nil
}

// rejectSome rejects those of some rows that refer to rejected rows, and returns how many.
func (p *pass) rejectSome(ctx context.Context, rows []*Row, waits, explained map[*Row]bool, all rejected) (n int, err error) {
	for _, row := range rows {
		if explained[row] || p.bad[row] != nil && !waits[row] {
			continue
		}
		member, of, err := p.refersTo(ctx, row, all)
		switch {
		case err != nil:
			return n, err
		case of == nil:
			continue
		case waits[row]:
			p.bad[row] = row.andFaults(slices.Clone(row.pending))
			p.bad[row][0].Reason += fmt.Sprintf("; its row, line %d of %s, is rejected", of.Line, of.File)
		default:
			p.bad[row] = []Problem{row.problem(member, fmt.Sprintf("is the record of line %d of %s, which is rejected", of.Line, of.File))}
			p.failed = true
		}
		if len(p.bad) < maxWaiting {
			row.page = nil // others may refer to it
		}
		explained[row] = true
		n++
		all.add(row)
	}
	return n, nil
}

// refersTo returns the rejected row that a row refers to, and the member that does, nil for none.
func (p *pass) refersTo(ctx context.Context, row *Row, all rejected) (member string, of *Row, err error) {
	for _, name := range slices.Sorted(maps.Keys(row.Patch)) {
		f, ok := row.Resource.ByMember(name)
		if !ok || empty(row.Patch[name]) {
			continue
		}
		if of, err = p.keyOf(ctx, f.Ref.Resource(), row.Patch[name], row, all); of != nil || err != nil {
			return name, of, err
		}
	}
	return "", nil, nil
}

// keyOf returns the rejected row that a natural key, or one within it, may be of.
func (p *pass) keyOf(ctx context.Context, r *records.Resource, doc json.RawMessage, row *Row, all rejected) (*Row, error) {
	keys := []map[string]json.RawMessage{{}}
	if json.Unmarshal(doc, &keys[0]) != nil {
		keys = nil
		for _, f := range r.ShortKeys() {
			keys = append(keys, map[string]json.RawMessage{f.Name: doc})
		}
	}
	for _, key := range keys {
		for _, name := range namesOf(r, key, row) {
			for _, of := range all[name] {
				if different, err := p.differs(ctx, r, key, of); of != row && (err != nil || !different) {
					return of, err
				}
			}
		}
		for name, doc := range key {
			if f, ok := r.ByMember(name); ok && !empty(doc) {
				if of, err := p.keyOf(ctx, f.Ref.Resource(), doc, row, all); of != nil || err != nil {
					return of, err
				}
			}
		}
	}
	return nil, nil
}

// differs reports whether the record of a row certainly has another value than a natural key.
func (p *pass) differs(ctx context.Context, r *records.Resource, key map[string]json.RawMessage, row *Row) (bool, error) {
	theirs := row.patch()
	for name, doc := range key {
		f, isKey := r.ByMember(name)
		other, has := theirs[name]
		if id, ok := theirs[name+"_id"]; isKey && !has && ok {
			other, has = json.RawMessage(`{"id":`+string(id)+`}`), true
		}
		switch {
		case !has || textOf(doc) == textOf(other) || empty(doc) && empty(other):
		case !isKey || empty(doc) || empty(other):
			return true, nil
		default:
			both := []records.Patch{{name: doc}, {name: other}}
			wrong, err := p.in.Resolve(ctx, r, both)
			if err != nil || len(wrong) == 0 && textOf(both[0][f.Name]) != textOf(both[1][f.Name]) {
				return true, err
			}
		}
	}
	return false, nil
}
