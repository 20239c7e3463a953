package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/manifest/registry"
)

// Source is the registry that is copied.
type Source interface {
	// Mirror returns a page of the versions updated since a time, deleted ones included, or of all versions if it is
	// zero, and how many of them could not be read. An empty cursor is the beginning. The error is
	// registry.ErrCursor if the registry refuses the cursor.
	Mirror(ctx context.Context, since time.Time, cursor string) (page *registry.Page, unreadable int, err error)
	// Base identifies the registry.
	Base() string
}

// Store stores the copy.
type Store interface {
	// Mirrored adds or replaces entries, and keeps a position, in one transaction.
	Mirrored(ctx context.Context, entries []registry.Entry, position []byte) error
	// MirrorPosition returns the position that was kept last, or nil.
	MirrorPosition(ctx context.Context) ([]byte, error)
}

// Options configures [Run]. Nil and zero fields mean the defaults.
type Options struct {
	// Overlap moves the start of each pass back. Default: 10 min.
	Overlap time.Duration
	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Timeout bounds the reading of a page, with its repetitions. Default: 5 min.
	Timeout time.Duration
	// Progress is called after each page. Default: none.
	Progress func(Result)
}

// Result has the progress of a run.
type Result struct {
	Since      time.Time // the pass requests what was updated since; zero for everything
	Resumed    bool      // the run continues a pass that was interrupted
	Pages      int
	Entries    int // read and stored
	Deleted    int // of Entries
	Unreadable int // left out
}

// maxPages bounds a pass of a source that has no end: ten million versions.
const maxPages = 100_000

// position says where the next pass continues. It is stored with the entries.
type position struct {
	Source string    `json:"source"`
	Since  time.Time `json:"since,omitzero"`   // of the pass
	Began  time.Time `json:"began,omitzero"`   // when the pass began; zero between passes
	Cursor string    `json:"cursor,omitempty"` // after the last page that is stored
	Newest time.Time `json:"newest,omitzero"`  // the latest update that was seen
}

// Run brings a store up to date with its source, in one pass. opts may be nil. It returns what it has done
// also with an error; another run continues there.
func Run(ctx context.Context, source Source, store Store, opts *Options) (Result, error) {
	o := *cmp.Or(opts, &Options{})
	o.Overlap, o.Timeout = cmp.Or(o.Overlap, 10*time.Minute), cmp.Or(o.Timeout, 5*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := read(ctx, source, store)
	if err != nil {
		return Result{}, err
	}
	r := &run{source: source, store: store, opts: o, at: *p}
	if p.Began.IsZero() {
		r.at.Began = o.Now().UTC()
	} else {
		r.done.Resumed = p.Cursor != ""
	}
	r.done.Since = r.at.Since
	err = r.pass(ctx)
	return r.done, err
}

// read returns the position of the last run.
func read(ctx context.Context, source Source, store Store) (*position, error) {
	data, err := store.MirrorPosition(ctx)
	if err != nil {
		return nil, err
	}
	p := &position{Source: source.Base()}
	if len(data) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("the position of the mirror is damaged: %w", err)
	}
	if p.Source != source.Base() {
		return nil, fmt.Errorf("the store is a mirror of %s, and not of %s: use another one", p.Source, source.Base())
	}
	return p, nil
}

// run is a call of Run.
type run struct {
	source Source
	store  Store
	opts   Options
	at     position
	done   Result
}

// pass copies page after page.
func (r *run) pass(ctx context.Context) error {
	seen := map[[sha256.Size]byte]bool{}
	for first := true; ; first = false {
		page, unreadable, err := r.page(ctx)
		if first && r.at.Cursor != "" && errors.Is(err, registry.ErrCursor) {
			r.at.Cursor, r.done.Resumed = "", false
			continue
		}
		if err != nil {
			return err
		}
		next := page.Metadata.NextCursor
		sum := sha256.Sum256([]byte(next))
		switch {
		case next != "" && (seen[sum] || next == r.at.Cursor):
			return errors.New("the registry has sent the same cursor twice")
		case r.done.Pages >= maxPages:
			return fmt.Errorf("the registry has more than %d pages", maxPages)
		}
		seen[sum] = true
		for i := range page.Servers {
			if s := &page.Servers[i].State; s.UpdatedAt.After(r.at.Newest) {
				r.at.Newest = s.UpdatedAt
			}
		}
		r.at.Cursor = next
		if next == "" {
			r.end()
		}
		encoded, err := json.Marshal(&r.at)
		if err == nil {
			err = r.store.Mirrored(ctx, page.Servers, encoded)
		}
		if err != nil {
			return err
		}
		r.count(page.Servers, unreadable)
		if next == "" {
			return nil
		}
	}
}

// page reads the next page.
func (r *run) page(ctx context.Context) (*registry.Page, int, error) {
	limited, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	page, unreadable, err := r.source.Mirror(limited, r.at.Since, r.at.Cursor)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("a page of the registry took longer than %v: %w", r.opts.Timeout, err)
	}
	return page, unreadable, err
}

// end sets the position for the next pass.
func (r *run) end() {
	since := r.at.Began
	if r.at.Newest.Before(since) {
		since = r.at.Newest
	}
	if since = since.Add(-r.opts.Overlap); since.After(r.at.Since) && !r.at.Newest.IsZero() {
		r.at.Since = since
	}
	r.at.Began = time.Time{}
}

// count adds a page to the result.
func (r *run) count(entries []registry.Entry, unreadable int) {
	r.done.Pages++
	r.done.Entries += len(entries)
	r.done.Unreadable += unreadable
	for i := range entries {
		if entries[i].State.Status == registry.Deleted {
			r.done.Deleted++
		}
	}
	if r.opts.Progress != nil {
		r.opts.Progress(r.done)
	}
}
