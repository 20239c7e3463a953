package inventory

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// MaxItems is how many records one call may create, update or delete.
const MaxItems = 1000

// Options are the choices of an [Inventory]. Nil means the defaults.
type Options struct {
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID makes the id of a new record, a UUID in lower case, in the order of creation.
	// Default: a UUID of version 7.
	NewID func() (string, error)
}

// Inventory is what becomes of records when they change, above a [Store]: they are checked,
// get their ids, times and versions, and each change has its entry in the audit log, in
// the same transaction. It is safe for concurrent use.
//
// A call with several records or edits makes all of the changes or none. The error has every
// item that failed.
type Inventory struct {
	store Store
	opts  Options
	dry   bool
	then  []func(context.Context, Tx) error
}

// New makes an inventory over a store.
func New(store Store, opts *Options) *Inventory {
	v := &Inventory{store: store}
	if opts != nil {
		v.opts = *opts
	}
	if v.opts.Now == nil {
		v.opts.Now = time.Now
	}
	if v.opts.NewID == nil {
		v.opts.NewID = newID
	}
	return v
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// DryRun is an inventory over the same store whose calls do all that they would do, and
// leave nothing changed.
func (v *Inventory) DryRun() *Inventory {
	dry := *v
	dry.dry = true
	return &dry
}

// BeforeCommit is an inventory over the same store whose changes end with f, in the same
// transaction: for what must be kept together with a change, or not at all, such as
// a message about it. f may run more than once. If it fails, nothing is changed.
func (v *Inventory) BeforeCommit(f func(ctx context.Context, tx Tx) error) *Inventory {
	more := *v
	more.then = append(slices.Clone(v.then), f)
	return &more
}

// Caller is who makes a change, for the audit log. All of it may be empty.
type Caller struct {
	UserID    string // the id of a user of this inventory, in lower case
	Name      string
	Address   string
	RequestID string
}

// Edit is a change of one record.
type Edit struct {
	ID      string
	Version int64 // which must be the latest; 0 is any
	// Apply makes of the record what it is to be; nil leaves it. It may refuse with an
	// error, and may run more than once. [Patch.Apply] is one, [Replacement] makes one.
	Apply  func(rec Record) error
	Action string // in the audit log; default: update, or delete
	// ActionOf is the action of an update that depends on what it changes. Where it is nil
	// or returns "", it is Action.
	ActionOf func(before, after Record) string
}

// Replacement is an [Edit.Apply] that puts the draft in the place of a record, which keeps
// what is the inventory's: what the draft has for those fields counts for nothing. A
// password in the draft must have become a hash before.
func Replacement(draft Record) func(Record) error {
	return func(rec Record) error {
		r, err := described(draft)
		if err != nil {
			return err
		}
		if ResourceOf(rec) != r {
			return fmt.Errorf("a %T can't replace a %T", draft, rec)
		}
		from := Clone(draft)
		for _, f := range r.fields {
			if !f.ReadOnly {
				f.of(rec).Set(f.of(from))
			}
		}
		return nil
	}
}

// Create adds records of one resource, and fills in what the inventory sets. The
// password of a user must have become a hash.
func (v *Inventory) Create(ctx context.Context, by Caller, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	r, err := described(records[0])
	if err != nil {
		return err
	}
	if err := fewEnough(len(records)); err != nil {
		return err
	}
	var wrong []ItemError
	for i, rec := range records {
		if ResourceOf(rec) != r || reflect.ValueOf(rec).IsNil() {
			return fmt.Errorf("record %d is a %T, unlike the first, which is a %T, or there is none", i, rec, records[0])
		}
		if err := v.Init(rec); err != nil {
			return err
		}
		if wrong, err = AppendItemError(wrong, i, "", v.prepare(rec, CheckNew)); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return JoinItemErrors(r, wrong, len(records))
	}
	return v.change(ctx, by, func(tx Tx) error { return v.createAll(ctx, tx, by, r, records) })
}

// createAll adds records and their entries all at once, which is how a store is quickest.
// If that fails, it tries them one by one, to say which are wrong.
func (v *Inventory) createAll(ctx context.Context, tx Tx, by Caller, r *Resource, records []Record) error {
	both := slices.Clone(records)
	for _, rec := range records {
		entry, err := v.entry(by, "create", nil, rec)
		if err != nil {
			return err
		}
		both = append(both, entry)
	}
	err := tx.Create(ctx, both...)
	if KindOf(err) == 0 || len(records) == 1 {
		return err
	}
	var wrong []ItemError
	for i, rec := range records {
		if wrong, err = AppendItemError(wrong, i, "", tx.Create(ctx, rec)); err != nil {
			return err
		}
	}
	if len(wrong) == 0 {
		return errors.New("the store refuses records together that it takes one by one")
	}
	return JoinItemErrors(r, wrong, len(records))
}

// fewEnough refuses a call with too many items.
func fewEnough(items int) error {
	if items <= MaxItems {
		return nil
	}
	return &Error{Kind: Invalid, Message: fmt.Sprintf("Too many items: send at most %d at once", MaxItems)}
}

// Init gives a record that is to be created in a transaction of one's own what the
// inventory sets: id, times and version. [Inventory.Create] does that itself.
func (v *Inventory) Init(rec Record) error {
	id, err := v.opts.NewID()
	if err != nil {
		return fmt.Errorf("make an id: %w", err)
	}
	now := instant(v.opts.Now())
	*rec.Meta() = Base{ID: id, CreatedAt: now, UpdatedAt: now, Version: 1}
	return nil
}

// prepare checks a record that is to be kept.
func (v *Inventory) prepare(rec Record, check func(Record) error) error {
	if m, ok := rec.(interface{ made() }); ok {
		m.made()
	}
	if err := check(rec); err != nil {
		return err
	}
	if u, ok := rec.(*User); ok && u.Password != "" {
		return errors.New("the password of a user must become a hash before it is kept")
	}
	return nil
}

// AppendItemError adds the error of one item to those of several, if it is an [*Error]. Any
// other comes back: it is the end of the call.
func AppendItemError(items []ItemError, index int, id string, err error) ([]ItemError, error) {
	if err == nil {
		return items, nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return items, err
	}
	return append(items, ItemError{index, id, e}), nil
}

// errDry ends the transaction of a dry call.
var errDry = errors.New("nothing is to be changed")

// change runs a transaction for a caller.
func (v *Inventory) change(ctx context.Context, by Caller, f func(tx Tx) error) error {
	err := v.store.Change(ctx, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		for _, then := range v.then {
			if err := then(ctx, tx); err != nil {
				return err
			}
		}
		if v.dry {
			return errDry
		}
		return nil
	})
	if v.dry && errors.Is(err, errDry) {
		return nil
	}
	return v.orGone(ctx, by, err)
}

// orGone is why a change has failed: that the caller is no user any more, whom the audit log
// can't name, or else err. Whoever let them in may have remembered them for a moment.
func (v *Inventory) orGone(ctx context.Context, by Caller, err error) error {
	if err == nil || by.UserID == "" || KindOf(err) != Invalid && KindOf(err) != 0 {
		return err
	}
	if _, gone := Get[User](ctx, Fresh(v.store), by.UserID); KindOf(gone) == NotFound {
		return &Error{Kind: Unauthenticated, Message: "Unauthorized: The user who asks is not there any more"}
	}
	return err
}

// entry is the audit log's of a change.
func (v *Inventory) entry(by Caller, action string, before, after Record) (*AuditLog, error) {
	rec := after
	if rec == nil {
		rec = before
	}
	return v.AuditEntry(by, action, ResourceOf(rec).Kind(), rec.Meta().ID, Diff(before, after))
}

// AuditEntry makes an entry of the audit log for what is no change of a record, such as a login,
// or for a transaction of one's own. Texts that are too long are cut.
func (v *Inventory) AuditEntry(by Caller, action, resource, id string, changes Changes) (*AuditLog, error) {
	a := &AuditLog{
		Actor: cut(by.Name, 100), Action: cut(action, 50), ResourceType: cut(resource, 50), ResourceID: cut(id, 100),
		IPAddress: cut(by.Address, 64), RequestID: cut(by.RequestID, 128), Changes: changes,
	}
	if by.UserID != "" {
		a.UserID = &by.UserID
	}
	return a, v.Init(a)
}

// cut makes a text fit for the log: of so many characters, and none that would break a
// line.
func cut(s string, n int) string {
	runes := []rune(printable(s[:min(len(s), 4*n)]))
	return string(runes[:min(n, len(runes))])
}
