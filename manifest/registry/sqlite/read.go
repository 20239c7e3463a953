package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/manifest/registry"
)

// columns are those that scan reads.
const columns = "v.name, v.version, v.status, v.message, v.status_changed, v.published, v.updated, v.latest, m.text"

// scan reads an entry from a row with the columns.
func scan(row interface{ Scan(...any) error }) (*registry.Entry, error) {
	e := &registry.Entry{}
	var changed, published, updated int64
	var text string
	err := row.Scan(&e.Name, &e.Version, &e.State.Status, &e.State.StatusMessage, &changed, &published, &updated, &e.State.IsLatest, &text)
	if err != nil {
		return nil, err
	}
	e.State.StatusChangedAt, e.State.PublishedAt, e.State.UpdatedAt = fromMicros(changed), fromMicros(published), fromMicros(updated)
	e.Server = json.RawMessage(text)
	return e, nil
}

// micros and fromMicros convert times. The zero time is kept.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// Get implements [registry.Reader].
func (s *Store) Get(ctx context.Context, name, version string) (*registry.Entry, error) {
	query, args := "SELECT "+columns+" FROM versions v JOIN manifests m ON m.id = v.id WHERE v.name = ? AND v.version = ?", []any{name, version}
	if version == "latest" {
		query, args = "SELECT "+columns+" FROM versions v JOIN manifests m ON m.id = v.id WHERE v.name = ? AND v.latest = 1", []any{name}
	}
	e, err := scan(s.db.Reader.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, registry.ErrNotFound
	}
	return e, err
}

// Versions implements [registry.Reader].
func (s *Store) Versions(ctx context.Context, name string) ([]registry.Entry, error) {
	return query(ctx, s.db.Reader, math.MaxInt, "SELECT "+columns+" FROM versions v JOIN manifests m ON m.id = v.id WHERE v.name = ? ORDER BY v.published DESC, v.version", name)
}

// querier is a handle or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query returns entries, and ends after one with which the manifests have so many bytes.
func query(ctx context.Context, db querier, bytes int, text string, args ...any) ([]registry.Entry, error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []registry.Entry
	for size := 0; size < bytes && rows.Next(); {
		e, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, *e)
		size += len(e.Server)
	}
	return all, rows.Err()
}

// List implements [registry.Reader].
func (s *Store) List(ctx context.Context, q *registry.Query) ([]registry.Entry, error) {
	l := &listing{order: "v.name, v.version", from: "versions v"}
	switch {
	case q.ByTime():
		l.byTime(q)
	case q.After != nil:
		l.where("(v.name, v.version) > (?, ?)", q.After.Name, q.After.Version)
	}
	if !q.Deleted() {
		l.where("v.status <> 'deleted'")
	}
	switch q.Version {
	case "":
	case "latest":
		l.where("v.latest = 1")
	default:
		l.where("v.version = ?", q.Version)
	}
	if q.Search != "" {
		if err := s.search(ctx, l, q); err != nil {
			return nil, err
		}
	}
	return query(ctx, s.db.Reader, registry.MaxPageBytes, l.text(), append(l.args, q.Limit)...)
}

// listing is a query of a page.
type listing struct {
	from, order string
	conditions  []string
	args        []any
}

func (l *listing) where(condition string, args ...any) {
	l.conditions = append(l.conditions, condition)
	l.args = append(l.args, args...)
}

// text returns the query. The page is found first, so that no other manifest is read.
func (l *listing) text() string {
	where := ""
	if len(l.conditions) > 0 {
		where = " WHERE " + strings.Join(l.conditions, " AND ")
	}
	return "SELECT " + columns + " FROM (SELECT v.* FROM " + l.from + where + " ORDER BY " + l.order + " LIMIT ?) v CROSS JOIN manifests m ON m.id = v.id ORDER BY " +
		strings.Replace(l.order, "s.name", "v.name", 1)
}

// byTime sorts by time and continues after the position.
func (l *listing) byTime(q *registry.Query) {
	l.order = "v.updated, v.name, v.version"
	since := micros(q.UpdatedSince)
	if q.UpdatedSince.Nanosecond()%1000 != 0 {
		since++ // entries have microseconds
	}
	if q.After != nil && micros(q.After.Updated) >= since {
		l.where("(v.updated, v.name, v.version) > (?, ?, ?)", micros(q.After.Updated), q.After.Name, q.After.Version)
		return
	}
	l.where("v.updated >= ?", since)
}

// Of more than maxFound servers that the index finds, the first ones are found faster by reading all.
const (
	maxFound = 500
	trigram  = 3 // characters that the index needs
)

// search restricts a listing to servers with a text.
func (s *Store) search(ctx context.Context, l *listing, q *registry.Query) error {
	text := registry.Fold(q.Search)
	if utf8.RuneCountInString(text) >= trigram {
		match := `"` + strings.ReplaceAll(text, `"`, `""`) + `"` // a string of FTS5
		var found int
		err := s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)", match, maxFound+1).Scan(&found)
		if err != nil {
			return err
		}
		if found <= maxFound {
			l.where("v.name IN (SELECT name FROM servers WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?))", match)
			return nil
		}
	}
	if q.ByTime() {
		l.where("instr((SELECT text FROM servers WHERE name = v.name), ?) > 0", text)
		return nil
	}
	l.from = "servers s CROSS JOIN versions v ON v.name = s.name"
	l.order = "s.name, v.version"
	l.where("instr(s.text, ?) > 0", text)
	if q.After != nil {
		l.where("s.name >= ?", q.After.Name)
	}
	return nil
}
