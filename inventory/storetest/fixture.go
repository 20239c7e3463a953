package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// fixture is a store under test and the model of its content.
type fixture struct {
	*rand.Rand
	ctx     context.Context
	store   records.Store
	model   *model
	got     map[string]records.Record // records of the model that Get has returned
	dataset bool                      // the store contains the data set for queries
	brief   bool                      // cases that take long are for some resources only

	resources []*records.Resource // whose records the cases make
}

// some returns the resources that a case is for which takes long.
func (f *fixture) some(all []*records.Resource) (some []*records.Resource) {
	for i, r := range all {
		if !f.brief || i%6 == 5 || r.IsPlace() || r.Name == "devices" {
			some = append(some, r)
		}
	}
	return some
}

// newFixture returns a fixture whose cases make records of all resources, or if they are brief, of
// some, those that cases name, those with a key that depends on a reference, and all that these
// refer to.
func newFixture(ctx context.Context, s records.Store, brief bool) *fixture {
	f := &fixture{ctx: ctx, store: s, model: newModel(), got: map[string]records.Record{}, brief: brief, resources: stored}
	if !brief {
		return f
	}
	wanted := map[*records.Resource]bool{
		records.Of[inventory.VLAN](schema): true, records.Of[inventory.Interface](schema): true, records.Of[inventory.Event](schema): true,
		records.Of[inventory.Metric](schema): true, records.Of[inventory.User](schema): true, records.Of[inventory.Secret](schema): true,
		records.Of[records.AuditLog](schema): true, records.Of[cabinet](schema): true,
	}
	for _, r := range slices.Concat(f.some(stored), f.some(public)) {
		wanted[r] = true
	}
	for _, r := range slices.Backward(stored) { // after those that refer to it
		if len(keysOf(r)) < len(r.Uniques()) {
			wanted[r] = true
		}
		for _, field := range references[r] {
			if wanted[r] {
				wanted[field.Ref.Resource()] = true
			}
		}
	}
	f.resources = slices.DeleteFunc(slices.Clone(stored), func(r *records.Resource) bool { return !wanted[r] })
	return f
}

// failure is the panic that ends a case.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// failureOf calls f and returns the failure that ends it, or nil.
func failureOf(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// must fails if there is an error.
func must(what string, err error) {
	if err != nil {
		fail("%s: %w", what, err)
	}
}

// refused requires one of the wanted errors, or nil if there are none.
func refused(what string, err error, want ...*records.Error) {
	if len(want) == 0 {
		must(what, err)
		return
	}
	e, ok := errors.AsType[*records.Error](err)
	if !ok {
		fail("%s: the error is %T %v; want %q", what, err, err, want[0].Message)
	}
	var messages []string
	for _, w := range want {
		if e.Kind == w.Kind && e.Message == w.Message && slices.Equal(e.Fields, w.Fields) {
			return
		}
		messages = append(messages, fmt.Sprintf("kind %d, %q, fields %v", w.Kind, w.Message, w.Fields))
	}
	fail("%s: the error is kind %d, %q, fields %v; want %s", what, e.Kind, e.Message, e.Fields, strings.Join(messages, " or "))
}

// call is a call on a transaction.
type call struct {
	what  string
	store func(ctx context.Context, tx records.Tx) error
	model func(m *model) []*records.Error // returns the errors of which the store must return one
	wants outcome
}

// outcome is the expectation of a case for a call, to detect mistakes in the cases.
type outcome int

const (
	accepted outcome = iota
	refusal
	either
)

func create(recs ...records.Record) call {
	given := cloned(recs)
	return call{what: "create " + names(recs...), store: func(ctx context.Context, tx records.Tx) error {
		return tx.Create(ctx, recs...)
	}, model: func(m *model) []*records.Error { return m.create(given) }}
}

// update replaces the version before that of the record.
func update(rec records.Record) call { return replace(rec, rec.Meta().Version-1) }

// replace replaces a version of the record with the same id.
func replace(rec records.Record, version int64) call {
	given := records.Clone(rec)
	return call{what: fmt.Sprintf("update version %d of %s", version, names(rec)), store: func(ctx context.Context, tx records.Tx) error {
		return tx.Update(ctx, rec, version)
	}, model: func(m *model) []*records.Error { return m.update(given, version) }}
}

// remove deletes the version that the record has.
func remove(rec records.Record) call {
	r, id, version := resourceOf(rec), rec.Meta().ID, rec.Meta().Version
	return call{what: fmt.Sprintf("delete version %d of %s", version, names(rec)), store: func(ctx context.Context, tx records.Tx) error {
		return tx.Delete(ctx, r, id, version, nil)
	}, model: func(m *model) []*records.Error { return m.remove(r, id, version) }}
}

func removeAll(recs ...records.Record) (calls []call) {
	for _, rec := range recs {
		calls = append(calls, remove(rec))
	}
	return calls
}

// refuse marks calls that the store must refuse.
func refuse(calls ...call) []call {
	for i := range calls {
		calls[i].wants = refusal
	}
	return calls
}

// returned requires that a call has returned what the model says.
func (c *call) returned(err error, m *model) {
	want := c.model(m)
	if c.wants != either && (len(want) > 0) != (c.wants == refusal) {
		panic(fmt.Sprintf("storetest: %s: the errors are %v", c.what, want))
	}
	refused(c.what, err, want...)
}

// apply makes each call in a transaction of its own.
func (f *fixture) apply(calls ...call) {
	for _, c := range calls {
		err := f.store.Change(f.ctx, func(tx records.Tx) error { return c.store(f.ctx, tx) })
		c.returned(err, f.model)
		f.adopt(f.store, f.model)
	}
}

// errRollback is the error with which a transaction is rolled back.
var errRollback = errors.New("the error of a transaction")

// transaction makes the calls in one transaction, verifies what the transaction sees, and
// ends it with an error or with nil.
func (f *fixture) transaction(end error, calls ...call) {
	var after *model
	err := f.store.Change(f.ctx, func(tx records.Tx) error {
		after = f.model.clone()
		f.calls(tx, after, calls)
		f.verify(tx, after)
		return end
	})
	f.ended(err, end, after)
}

func (f *fixture) calls(tx records.Tx, m *model, calls []call) {
	for _, c := range calls {
		c.returned(c.store(f.ctx, tx), m)
		f.adopt(tx, m)
	}
}

// ended checks the error of a transaction, and has the model follow one that was committed.
func (f *fixture) ended(err, want error, after *model) {
	if !errors.Is(err, want) {
		fail("the error of a transaction is %v; want %v", err, want)
	}
	if want == nil {
		f.model = after
		return
	}
	clear(f.got) // to read what was changed again
}

// adopt has the model take over the version and the time of records that have lost a
// reference, which the store decides.
func (f *fixture) adopt(from records.Reader, m *model) {
	for id := range m.released {
		rec := m.records[id]
		now, err := from.Get(f.ctx, resourceOf(rec), id)
		must("get a record that has lost a reference", err)
		if now.Meta().Version <= rec.Meta().Version {
			fail("%s has lost a reference and is version %d; want one after %d", names(rec), now.Meta().Version, rec.Meta().Version)
		}
		rec = records.Clone(rec)
		rec.Meta().Version, rec.Meta().UpdatedAt = now.Meta().Version, now.Meta().UpdatedAt
		m.records[id] = rec
	}
	clear(m.released)
}

// reload has the model take over the content of the store, after changes that it has not
// followed.
func (f *fixture) reload() {
	f.model = newModel()
	for _, r := range f.resources {
		page, err := f.store.List(f.ctx, &records.Query{Resource: r})
		must("list "+r.Name, err)
		f.model.create(page.Records)
	}
}

// empty deletes all records, those that refer to others first.
func (f *fixture) empty() {
	f.dataset = false
	if len(f.model.records) == 0 {
		return
	}
	must("delete all records", f.store.Change(f.ctx, func(tx records.Tx) error {
		m := f.model.clone()
		for _, r := range slices.Backward(f.resources) {
			f.calls(tx, m, removeAll(m.of(r)...))
		}
		return nil
	}))
	f.model = newModel()
	f.verify(f.store, f.model)
}

// verify requires that a reader returns the records of a model and no others: in lists, and one
// by one. It gets the records that have changed since the last time, and in a transaction one of
// each resource, which is enough and takes less time.
func (f *fixture) verify(from records.Reader, m *model) {
	_, within := from.(records.Tx)
	for _, r := range f.resources {
		f.lists(from, m, &records.Query{Resource: r, Count: true})
		if lister, ok := from.(records.LatestLister); ok && r.Latest != nil {
			f.latest(lister, m, r)
		}
		for _, want := range m.of(r) {
			sample := want.Meta().ID == id(r, samples)
			if within && !sample || f.got[want.Meta().ID] == want {
				continue
			}
			got, err := from.Get(f.ctx, r, want.Meta().ID)
			must("get "+names(want), err)
			same("get", got, want)
			if !within {
				f.got[want.Meta().ID] = want
			}
			if sample {
				f.lists(from, m, (&records.Query{Resource: r, Count: true}).Where("id", want.Meta().ID))
			}
		}
	}
	for id, r := range m.absent {
		_, err := from.Get(f.ctx, r, id)
		refused("get "+r.Kind()+" "+id, err, records.Absent(r))
	}
	if !within {
		clear(m.absent)
	}
}

// agrees requires that the store answers a query as Query.Select does.
func (f *fixture) agrees(q *records.Query) { f.lists(f.store, f.model, q) }

func (f *fixture) lists(from records.Reader, m *model, q *records.Query) {
	got, err := from.List(f.ctx, q)
	f.expect("list "+show(q), got, err, q.Select(m.within(q.Only, m.of(q.Resource))))
}

// latest compares the latest records, which a model selects from all.
func (f *fixture) latest(from records.LatestLister, m *model, r *records.Resource) {
	for _, by := range r.Fields() {
		if !by.Sortable() || by.Column == "" {
			continue
		}
		q := &records.Query{Resource: r, Count: true, Sort: []records.SortKey{{Field: by, Desc: true}}}
		got, err := from.ListLatest(f.ctx, q)
		f.expect("list the latest "+show(q), got, err, q.Select(r.SelectLatest(m.of(r))))
	}
}

func (f *fixture) expect(what string, got *records.Page, err error, want *records.Page) {
	must(what, err)
	if a, b := ids(got.Records), ids(want.Records); !slices.Equal(a, b) {
		fail("%s: the records are %v; want %v", what, a, b)
	}
	for i, rec := range want.Records {
		same(what, got.Records[i], rec)
	}
	if got.Total != want.Total || got.More != want.More {
		fail("%s: Total is %d and More is %t; want %d, %t", what, got.Total, got.More, want.Total, want.More)
	}
}

// concurrently calls do once per caller, all at the same time.
func concurrently(callers int, do func(caller int)) {
	errs := make([]error, callers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for c := range callers {
		group.Go(func() {
			<-start
			errs[c] = failureOf(func() { do(c) })
		})
	}
	close(start)
	group.Wait()
	must("concurrent callers", errors.Join(errs...))
}

// same requires that a record equals another one in every field.
func same(what string, got, want records.Record) {
	r := resourceOf(want)
	if resourceOf(got) != r {
		fail("%s: there is a %T; want a %T", what, got, want)
	}
	for _, field := range r.Fields() {
		a, b := field.Value(got), field.Value(want)
		if field.Column == "" {
			b = nil // not stored
		}
		if !equal(a, b) {
			fail("%s: the %s of %s is %s; want %s", what, field.Name+field.Column, names(want), text(a), text(b))
		}
	}
}

// equal reports whether a value is the wanted one: a time must be in UTC, and an empty list
// must not be nil.
func equal(got, want any) bool {
	switch want := want.(type) {
	case time.Time:
		t, ok := got.(time.Time)
		return ok && t.Equal(want) && t.Location() == time.UTC
	case []string:
		list, ok := got.([]string)
		return ok && slices.Equal(list, want) && (list == nil) == (want == nil)
	case string, int64, float64, bool, nil:
		return got == want
	}
	return text(got) == text(want) // objects, whose numbers may have changed their type
}

// ids returns the ends of the ids of records, which tell them apart.
func ids(recs []records.Record) []string {
	all := make([]string, len(recs))
	for i, rec := range recs {
		all[i] = rec.Meta().ID[19:]
	}
	return all
}

// names returns the kinds and ids of the first three records.
func names(recs ...records.Record) string {
	var all []string
	for _, rec := range recs[:min(3, len(recs))] {
		all = append(all, resourceOf(rec).Kind()+" "+rec.Meta().ID[19:])
	}
	if more := len(recs) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// text returns a value as JSON of at most 200 bytes.
func text(v any) string {
	const limit = 200
	doc, err := json.Marshal(v)
	must("encode a value", err)
	if len(doc) <= limit {
		return string(doc)
	}
	return fmt.Sprintf("%s... (%d bytes)", doc[:limit], len(doc))
}

// show returns a query in a readable form.
func show(q *records.Query) string {
	var after, sort []string
	for _, key := range q.Sort {
		sort = append(sort, fmt.Sprintf("%s desc=%t", key.Field.Column, key.Desc))
	}
	if q.After != nil {
		after = []string{text(q.After.Values), q.After.ID}
	}
	only := ""
	if q.Only != nil {
		only = fmt.Sprintf(" only=%v own=%q", q.Only.IDs, q.Only.Own)
	}
	return fmt.Sprintf("%s%s %.200v q=%q sort=%v after=%v offset=%d limit=%d count=%t", q.Resource.Name, only, q.Filters, q.Text, sort, after, q.Offset, q.Limit, q.Count)
}
