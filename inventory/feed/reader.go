package feed

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	maxScanned = 5000 // entries of the log that one call of Next passes over
	readAtOnce = 100  // entries
	pollStore  = 200 * time.Millisecond
)

// Changes follows the changes of a store in this process, of some resources such as devices or of all: each change once, in
// the order in which they were committed, and at most 0.2 s afterwards. Those that other processes make in its database are
// included. since is a cursor as that of [Follow], and cursors are the same over HTTP. The iterator ends when the loop does,
// or with an error: that of ctx, a [*GoneError], one of kind [records.Invalid] for a cursor or a resource that is none, or a
// failure of the store, after which a program continues from the Cursor of the last change.
func Changes(ctx context.Context, store records.Store, since string, resources ...string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		r, err := NewReader(store, resources...)
		if err == nil {
			err = r.Seek(ctx, since)
		}
		for err == nil {
			found, more, failed := r.Next(ctx, readAtOnce, nil)
			for _, c := range found {
				if !yield(c, nil) {
					return
				}
			}
			if err = failed; err == nil && !more {
				err = backoff.Sleep(ctx, pollStore)
			}
		}
		yield(Change{}, err)
	}
}

// Reader reads the changes of a store, page by page. It is not safe for concurrent use.
type Reader struct {
	At   records.AuditPosition // the last position that it has passed
	Only map[string]bool       // the kinds of the resources that were asked for; nil is all

	chain records.AuditChain
}

// NewReader returns a reader of the changes of some resources, such as devices, or of all. The error is of kind
// [records.Invalid] for an unknown resource.
func NewReader(store records.Store, resources ...string) (*Reader, error) {
	if err := records.CheckStore(store, &records.AuditLog{}); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	chain, ok := records.Fresh(store).(records.AuditChain)
	if !ok {
		return nil, errors.New("feed: the store keeps no chain of its audit log")
	}
	r := &Reader{chain: chain}
	for _, name := range resources {
		of, ok := store.Schema().Named(name)
		if !ok || of.Internal && of.Unaudited {
			return nil, records.Refuse("resource", records.Unknown("resource", "use a name such as devices"))
		}
		if r.Only == nil {
			r.Only = map[string]bool{}
		}
		r.Only[of.Kind()] = true
	}
	return r, nil
}

// Cursor returns the cursor of the position. Cursors compare as strings like their positions.
func (r *Reader) Cursor() string { return cursorOf(r.At) }

// cursorOf returns the cursor of a position. The part of the hash shows a cursor of another database, such as one before
// a backup was restored.
func cursorOf(p records.AuditPosition) string {
	sum := "00000000"
	if len(p.Hash) >= 4 {
		sum = hex.EncodeToString(p.Hash[:4])
	}
	return fmt.Sprintf("%016x-%s", p.Seq, sum)
}

// Seek goes to the position of a cursor: "" is the end, and "0" the first change that is kept. The error is a [*GoneError],
// of kind [records.Invalid] for what is no cursor, or a failure.
func (r *Reader) Seek(ctx context.Context, since string) error {
	head, err := r.chain.AuditHead(ctx)
	if err != nil {
		return err
	}
	if since == "" {
		r.At = head
		return nil
	}
	anchors, err := r.chain.AuditAnchors(ctx)
	if err != nil {
		return err
	}
	var kept records.AuditPosition // before the first entry that is kept
	for _, a := range anchors {
		if a.Pruned > 0 {
			kept = a.AuditPosition
		}
	}
	if since == "0" {
		r.At = kept
		return nil
	}
	number, sum, ok := strings.Cut(since, "-")
	seq, err := strconv.ParseInt(number, 16, 64)
	if err != nil || !ok || len(number) != 16 || len(sum) != 8 || seq < 0 {
		return records.Refuse("since", records.BadFormat("next or cursor of an earlier response, or 0 for all changes that are kept"))
	}
	switch {
	case seq < kept.Seq:
		return gone(head, notKept)
	case seq > head.Seq:
		return gone(head, otherDatabase)
	case seq == kept.Seq:
		r.At = kept
	default:
		page, err := r.chain.AuditAfter(ctx, seq-1, 1)
		if err != nil {
			return err
		}
		if len(page) == 0 || page[0].Seq != seq {
			return gone(head, notKept)
		}
		r.At = page[0].AuditPosition
	}
	if seq > 0 && cursorOf(r.At) != since {
		return gone(head, otherDatabase)
	}
	return nil
}

const (
	notKept       = "The changes behind this cursor are no longer kept"
	otherDatabase = "The cursor is of another database, or of this one before a backup was restored"
)

// gone says how to start over.
func gone(head records.AuditPosition, why string) error {
	cursor := cursorOf(head)
	return &GoneError{Message: why + ": list all records, then continue with since=" + cursor, Head: cursor}
}

// Next reads the next changes, up to a limit, and moves past them. see returns an entry of the log as the caller may see
// it, or nil; a nil see is all. more reports whether there are entries that Next has not passed.
func (r *Reader) Next(ctx context.Context, limit int, see func(*records.AuditLog) *records.AuditLog) (found []Change, more bool, err error) {
	for scanned := 0; ; {
		page, err := r.chain.AuditAfter(ctx, r.At.Seq, readAtOnce)
		if err != nil {
			return nil, false, err
		}
		for _, e := range page {
			if e.Seq != r.At.Seq+1 {
				head, err := r.chain.AuditHead(ctx)
				if err != nil {
					return nil, false, err
				}
				return nil, false, gone(head, notKept)
			}
			if len(found) == limit {
				return found, true, nil
			}
			r.At = e.AuditPosition
			a := e.Entry
			if a != nil && r.Only != nil && !r.Only[a.ResourceType] {
				continue
			}
			if a != nil && see != nil {
				a = see(a)
			}
			if a != nil {
				found = append(found, Change{
					cursorOf(e.AuditPosition), a.Action, a.ResourceType, a.ResourceID, a.Actor, a.UserID, a.CreatedAt, a.RequestID, a.Changes, a.Cause,
				})
			}
		}
		scanned += len(page)
		if len(page) < readAtOnce {
			return found, false, nil
		}
		if scanned >= maxScanned {
			return found, true, nil
		}
	}
}
