package registry

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// Reader reads entries. Callers must not change what they get.
type Reader interface {
	// Get returns a version of a server, deleted or not; the version "latest" is the latest one. The error is
	// ErrNotFound if there is none.
	Get(ctx context.Context, name, version string) (*Entry, error)
	// Versions returns all versions of a server, deleted ones included, the newest first: by PublishedAt
	// descending, then by version. An unknown server has none.
	Versions(ctx context.Context, name string) ([]Entry, error)
	// List returns at most q.Limit entries. It ends earlier after an entry with which the manifests have MaxPageBytes.
	List(ctx context.Context, q *Query) ([]Entry, error)
}

// MaxPageBytes is the size of the manifests of a page after which it ends.
const MaxPageBytes = 8 << 20

// Limits bound what a server may have.
type Limits struct {
	Versions int   // their number
	Bytes    int64 // the size of all manifests together
}

// Allow reports whether a server with so many versions and bytes may have another entry.
func (l Limits) Allow(versions int, bytes int64, e *Entry) bool {
	return versions < l.Versions && bytes+int64(len(e.Server)) <= l.Bytes
}

// Store keeps entries. It is safe for concurrent use, and a change is atomic. After each change exactly one
// version of each server is the latest, by [Latest].
type Store interface {
	Reader
	// Publish adds an entry. It sets State.IsLatest of the entry. The error is ErrExists if the version
	// exists, ErrTooMany if the server would exceed the limits, or ErrFull.
	Publish(ctx context.Context, e *Entry, limits Limits) error
	// SetStatus changes the status of a version, or of all versions if version is "". It returns the
	// changed entries in the order of Versions. The error is ErrNotFound, or ErrUnchanged if all have that status.
	SetStatus(ctx context.Context, name, version string, c *Change) ([]Entry, error)
}

// Change is a new status.
type Change struct {
	Status  Status
	Message string // empty if Status is Active
	At      time.Time
}

// Apply returns the state after the change, and whether it differs.
func (c *Change) Apply(s State) (State, bool) {
	if s.Status == c.Status && s.StatusMessage == c.Message {
		return s, false
	}
	s.Status, s.StatusMessage, s.StatusChangedAt, s.UpdatedAt = c.Status, c.Message, c.At, c.At
	s.normalize()
	return s, true
}

// Errors of stores.
var (
	ErrNotFound  = errors.New("no such version of a server")
	ErrExists    = errors.New("the version exists")
	ErrTooMany   = errors.New("the server has too many versions")
	ErrFull      = errors.New("the store is full")
	ErrUnchanged = errors.New("the status is not changed")
	// ErrCursor is returned by clients if a registry refuses a cursor.
	ErrCursor = errors.New("the cursor is not valid any more")
)

// Query selects entries. The zero Query selects those that are not deleted.
type Query struct {
	Filter
	// After continues after a position in the same order. Nil begins.
	After *Position
	// Limit is the maximum number of entries; it must be positive.
	Limit int
}

// Filter is the part of a query that a client chooses.
type Filter struct {
	// Search selects servers whose latest version has this text in name, title or description,
	// ignoring case. At most 100 characters.
	Search string
	// UpdatedSince selects entries that were updated at or after this time, deleted ones included, and sorts by
	// UpdatedAt, name and version. Otherwise entries are sorted by name and version, byte by byte.
	UpdatedSince time.Time
	// Version selects entries of this version, or with "latest" the latest of each server.
	Version string
	// IncludeDeleted selects deleted entries too.
	IncludeDeleted bool
}

// maxSearch is the maximum length of Filter.Search in characters.
const maxSearch = 100

// latest is the version that stands for the latest one.
const latest = "latest"

// ByTime reports whether entries are sorted by time.
func (f *Filter) ByTime() bool { return !f.UpdatedSince.IsZero() }

// Deleted reports whether deleted entries are selected.
func (f *Filter) Deleted() bool { return f.IncludeDeleted || f.ByTime() }

// selects reports whether an entry has the version and the status that the filter selects.
func (f *Filter) selects(version string, s *State) bool {
	if s.Status == Deleted && !f.Deleted() {
		return false
	}
	return f.Version == "" || f.Version == version || f.Version == latest && s.IsLatest
}

// Fold returns text in the form in which search compares it.
func Fold(text string) string { return strings.ToLower(text) }

// searchable reports whether a text can be searched.
func searchable(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxSearch && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// Position is a position in a list: the key of the last entry.
type Position struct {
	Name    string    `json:"n"`
	Version string    `json:"v"`
	Updated time.Time `json:"u,omitzero"` // in a list by time
}

// PositionOf returns the position of an entry in the list of a filter.
func PositionOf(f *Filter, e *Entry) *Position {
	p := &Position{Name: e.Name, Version: e.Version}
	if f.ByTime() {
		p.Updated = e.State.UpdatedAt
	}
	return p
}
