package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// MaxItems is the maximum number of records that one call may create, update or delete.
const MaxItems = 1000

// Options configure an [Engine]. Nil means the defaults.
type Options struct {
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID returns the id of a new record: a UUID in lower case that sorts after earlier
	// ones. Default: a UUID of version 7.
	NewID func() (string, error)
}

// Engine validates and applies changes to the records of a [Store]: it sets ids, times
// and versions, and writes an audit log entry for each change in the same transaction. It
// is safe for concurrent use.
//
// A call with several records or edits is applied atomically. Its error has every failed
// item.
type Engine struct {
	store        Store
	opts         Options
	preview      *Preview // of a dry run, or nil
	beforeChange []func(context.Context, Tx) error
	beforeCommit []func(context.Context, Tx) error
	places       func() *Places // of LimitTo, or nil
	within       *together      // of Together, or nil
	commits      *sync.Map      // see AfterCommit: the entries of transactions, by their Tx
}

// New returns an engine over a store. opts may be nil. With a nil store every call of the engine is an error.
func New(store Store, opts *Options) *Engine {
	if err := CheckStore(store); err != nil {
		none := NewMemStore(nil)
		none.failed, store = fmt.Errorf("records.New: %w", err), none
	}
	v := &Engine{store: store, opts: *cmp.Or(opts, &Options{}), commits: &sync.Map{}}
	if v.opts.Now == nil {
		v.opts.Now = time.Now
	}
	if v.opts.NewID == nil {
		v.opts.NewID = func() (string, error) {
			id, err := uuid.NewV7()
			return id.String(), err
		}
	}
	return v
}

// Store returns the store of the engine.
func (v *Engine) Store() Store { return v.store }

// Now returns the time of the engine's clock.
func (v *Engine) Now() time.Time { return v.opts.Now() }

// DryRun returns an engine over the same store whose calls do everything except commit, and say
// in a preview what they would have changed. The preview is that of the last call; nil is not
// filled in.
func (v *Engine) DryRun(preview *Preview) *Engine {
	dry := *v
	dry.preview = cmp.Or(preview, &Preview{})
	return &dry
}

// BeforeChange returns an engine over the same store that runs f as the first step of the transaction
// of each change, before anything is read, so that f may refuse the change by what is stored then.
// f may run more than once. Its error is returned unchanged.
func (v *Engine) BeforeChange(f func(ctx context.Context, tx Tx) error) *Engine {
	more := *v
	more.beforeChange = append(slices.Clone(v.beforeChange), f)
	return &more
}

// BeforeCommit returns an engine over the same store that runs f as the last step of the
// transaction of each change, to store something together with it. f may run more than
// once. If it fails, the change is rolled back.
func (v *Engine) BeforeCommit(f func(ctx context.Context, tx Tx) error) *Engine {
	more := *v
	more.beforeCommit = append(slices.Clone(v.beforeCommit), f)
	return &more
}

// Caller identifies who makes a change, for the audit log. All fields may be empty.
type Caller struct {
	UserID    string // up to 100 characters
	Name      string
	Address   string
	RequestID string
}

// Edit is a change of one record.
type Edit struct {
	ID      string
	Version int64 // must be the current one; 0 is any
	// Apply changes the record; nil leaves it unchanged. It may refuse with an error, and may
	// run more than once. [Resource.Patch] and [Resource.Replacement] return one.
	Apply  func(rec Record) error
	Action string // in the audit log; default: update, or delete
	// ActionOf returns the action of an update that depends on what it changes. If it is nil
	// or returns "", Action counts.
	ActionOf func(before, after Record) string
	// Note is added to the changed fields in the audit log. It must not have the name of a field.
	Note Changes
}

// Replacement returns an [Edit.Apply] that replaces a record of the resource by the draft,
// except for the read-only fields. The caller has replaced a password in the draft by its hash.
func (r *Resource) Replacement(draft Record) func(Record) error {
	return func(rec Record) error {
		if err := errors.Join(r.check(draft), r.check(rec)); err != nil {
			return err
		}
		from := Clone(draft)
		for _, f := range r.fields {
			switch {
			case f.ReadOnly:
			case f.Extra:
				f.Set(rec, f.Value(from))
			default:
				f.In(reflect.ValueOf(rec).Elem()).Set(f.In(reflect.ValueOf(from).Elem()))
			}
		}
		return nil
	}
}

// Create adds records of one resource and fills in the read-only fields. The caller has
// replaced the password of a user by its hash.
func (v *Engine) Create(ctx context.Context, by Caller, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	r, err := v.store.Schema().Of(records[0])
	if err != nil {
		return err
	}
	if err := checkItems(len(records)); err != nil {
		return err
	}
	err = r.each(records, func(_ int, rec Record) error {
		if !r.Is(rec) {
			return fmt.Errorf("a record is nil or a %T, and the first one is a %T", rec, records[0])
		}
		if err := v.Init(rec); err != nil {
			return err
		}
		return v.prepare(r, rec, r.CheckNew)
	})
	if err != nil {
		return err
	}
	return v.change(ctx, func(tx Tx) error { return v.createAll(ctx, tx, by, r, records) })
}

// createAll adds records and their audit log entries in one call, which is fastest. If that
// fails, it adds the records one by one, to find those that fail.
func (v *Engine) createAll(ctx context.Context, tx Tx, by Caller, r *Resource, records []Record) error {
	s := v.scope(tx, true)
	first := s.vacated.items
	s.vacated.items += len(records)
	if err := s.checkNew(ctx, r, records); err != nil {
		return err
	}
	each := func(f func(rec Record) error) error {
		return r.each(records, func(i int, rec Record) error {
			s.item = ItemError{Index: first + i}
			return f(rec)
		})
	}
	err := each(func(rec Record) error { return v.validateNew(ctx, tx, s, r, rec) })
	if err != nil {
		return err
	}
	if !r.Unaudited {
		if err := s.load(ctx, r, records...); err != nil {
			return err
		}
	}
	var entries []Record
	for _, rec := range records {
		entry, err := v.entry(ctx, s, by, "create", r, nil, rec)
		if err != nil {
			return err
		}
		if entry != nil {
			entries = append(entries, entry)
		}
	}
	create := tx.Create
	if fast, ok := tx.(FastCreator); ok {
		create = fast.CreateFast
	}
	err = create(ctx, slices.Concat(records, entries)...)
	if KindOf(err) != 0 {
		err = each(func(rec Record) error {
			return s.place(ctx, tx, r, nil, rec, func() error { return tx.Create(ctx, rec) })
		})
		if err == nil {
			err = tx.Create(ctx, entries...)
		}
	}
	if err != nil {
		return err
	}
	return each(func(rec Record) error { return v.accompany(ctx, tx, s, by, r, nil, rec) })
}

// validateNew calls the hooks of a new record.
func (v *Engine) validateNew(ctx context.Context, tx Tx, s *scope, r *Resource, rec Record) error {
	if len(r.onChange) > 0 {
		if err := r.hook(ctx, tx, nil, rec); err != nil {
			return err
		}
		if err := v.prepare(r, rec, r.CheckNew); err != nil {
			return err
		}
	}
	if t, ok := rec.(TxValidator); ok {
		return s.place(ctx, tx, r, nil, nil, func() error { return t.ValidateIn(ctx, tx, nil) })
	}
	return nil
}

// checkItems refuses a call with too many items.
func checkItems(items int) error {
	if items <= MaxItems {
		return nil
	}
	return &Error{Kind: Invalid, Message: fmt.Sprintf("Too many items: send at most %d in one request", MaxItems)}
}

// Init sets the id, times and version of a new record that the caller creates in its own
// transaction. [Engine.Create] calls it itself.
func (v *Engine) Init(rec Record) error {
	id, err := v.opts.NewID()
	if err != nil {
		return fmt.Errorf("generate an id: %w", err)
	}
	now := storedTime(v.opts.Now())
	*rec.Meta() = Base{ID: id, CreatedAt: now, UpdatedAt: now, Version: 1, Extra: rec.Meta().Extra}
	return nil
}

// Insert calls Init, and creates the record in a transaction of the caller, without an audit log entry.
func (v *Engine) Insert(ctx context.Context, tx Tx, rec Record) error {
	if err := v.Init(rec); err != nil {
		return err
	}
	return tx.Create(ctx, rec)
}

// prepare validates a record to be stored.
func (v *Engine) prepare(r *Resource, rec Record, check func(Record) error) error {
	if i, ok := rec.(Initializer); ok {
		i.Initialize()
	}
	if err := check(rec); err != nil {
		return err
	}
	for _, f := range r.fields {
		if f.WriteOnly && f.Value(rec) != nil {
			return fmt.Errorf("the %s of a %s must be replaced by what is stored of it", f.Name, r.Noun())
		}
	}
	return nil
}

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("dry run")

// change runs a transaction.
func (v *Engine) change(ctx context.Context, f func(tx Tx) error) error {
	if v.within != nil {
		return f(v.within.tx)
	}
	var added []*AuditLog // in the transaction
	keep := len(v.store.Schema().afterCommit) > 0
	err := v.store.Change(ctx, func(tx Tx) error {
		v.preview.reset()
		for _, first := range v.beforeChange {
			if err := first(ctx, tx); err != nil {
				return err
			}
		}
		added = nil
		if keep {
			v.commits.Store(tx, &added)
			defer v.commits.Delete(tx)
		}
		if err := f(tx); err != nil {
			return err
		}
		for _, last := range v.beforeCommit {
			if err := last(ctx, tx); err != nil {
				return err
			}
		}
		if v.preview != nil {
			return errDryRun
		}
		return nil
	})
	if v.preview != nil && errors.Is(err, errDryRun) {
		return nil
	}
	if err == nil && len(added) > 0 {
		for _, f := range v.store.Schema().afterCommit {
			f(ctx, added)
		}
	}
	return err
}

// entry returns the audit log entry of a change, or an untyped nil if the resource has none.
func (v *Engine) entry(ctx context.Context, s *scope, by Caller, action string, r *Resource, before, after Record) (Record, error) {
	if r.Unaudited && v.preview == nil {
		return nil, nil
	}
	entry, err := v.newEntry(ctx, s, by, action, r, before, after)
	if err != nil {
		return nil, err
	}
	v.preview.addRequested(r, before, after)
	v.preview.add(entry)
	if r.Unaudited {
		return nil, nil
	}
	return entry, nil
}

// newEntry returns the entry of a change.
func (v *Engine) newEntry(ctx context.Context, s *scope, by Caller, action string, r *Resource, before, after Record) (*AuditLog, error) {
	rec := cmp.Or(after, before)
	entry, err := v.AuditEntry(by, action, r.Kind(), rec.Meta().ID, r.Diff(before, after))
	if err == nil && !r.Unaudited {
		entry.Places, err = s.placesOf(ctx, r, before, after)
		if list, ok := v.commits.Load(s.from); ok { // for AfterCommit
			added := list.(*[]*AuditLog)
			*added = append(*added, entry)
		}
	}
	return entry, err
}

// Log adds an audit log entry for an event that changes no record, as [Engine.AuditEntry] returns it,
// in a transaction of its own.
func (v *Engine) Log(ctx context.Context, by Caller, action, resource, id string, changes Changes) error {
	entry, err := v.AuditEntry(by, action, resource, id, changes)
	if err != nil {
		return err
	}
	return v.change(ctx, func(tx Tx) error { return tx.Create(ctx, entry) })
}

// AuditEntry returns an audit log entry for an event that changes no record, such as a failed
// login, or for the caller's own transaction. Strings that are too long are cut.
func (v *Engine) AuditEntry(by Caller, action, resource, id string, changes Changes) (*AuditLog, error) {
	a := &AuditLog{
		Actor: printable.Prefix(by.Name, 100), Action: printable.Prefix(action, 50),
		ResourceType: printable.Prefix(resource, 50), ResourceID: printable.Prefix(id, 100),
		IPAddress: printable.Prefix(by.Address, 64), RequestID: printable.Prefix(by.RequestID, 128), Changes: changes,
	}
	if id := printable.Prefix(by.UserID, 100); id != "" {
		a.UserID = &id
	}
	return a, v.Init(a)
}
