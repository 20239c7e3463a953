package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/ashlar-go/ashlar/manifest/registry"
)

// change calls f in a transaction that has the write lock.
func (s *Store) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Publish implements [registry.Store].
func (s *Store) Publish(ctx context.Context, e *registry.Entry, limits registry.Limits) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		var versions, same int
		var size int64
		row := tx.QueryRowContext(ctx, "SELECT count(*), count(CASE version WHEN ? THEN 1 END), coalesce(sum(size), 0) FROM versions WHERE name = ?", e.Version, e.Name)
		if err := row.Scan(&versions, &same, &size); err != nil {
			return err
		}
		switch {
		case same > 0:
			return registry.ErrExists
		case !limits.Allow(versions, size, e):
			return registry.ErrTooMany
		}
		if err := put(ctx, tx, e); err != nil {
			return err
		}
		latest, err := rank(ctx, tx, e.Name)
		e.State.IsLatest = latest == e.Version
		return err
	})
}

// put adds or replaces an entry. The caller calls rank.
func put(ctx context.Context, tx *sql.Tx, e *registry.Entry) error {
	st := &e.State
	var id int64
	err := tx.QueryRowContext(ctx, `INSERT INTO versions (name, version, status, message, status_changed, published, updated, latest, size) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)
		ON CONFLICT (name, version) DO UPDATE SET status = excluded.status, message = excluded.message, status_changed = excluded.status_changed,
			published = excluded.published, updated = excluded.updated, latest = 0, size = excluded.size RETURNING id`,
		e.Name, e.Version, st.Status, st.StatusMessage, micros(st.StatusChangedAt), micros(st.PublishedAt), micros(st.UpdatedAt), len(e.Server)).Scan(&id)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO manifests (id, text) VALUES (?, ?)", id, string(e.Server))
	return err
}

// rank finds and returns the latest version of a server, and updates what is searched.
func rank(ctx context.Context, tx *sql.Tx, name string) (string, error) {
	versions, err := ranked(ctx, tx, name)
	if err != nil {
		return "", err
	}
	latest := versions[registry.Latest(versions)].Version
	if _, err := tx.ExecContext(ctx, "UPDATE versions SET latest = (version = ?1) WHERE name = ?2 AND latest <> (version = ?1)", latest, name); err != nil {
		return "", err
	}
	e := &registry.Entry{Name: name}
	row := tx.QueryRowContext(ctx, "SELECT m.text FROM versions v JOIN manifests m ON m.id = v.id WHERE v.name = ? AND v.version = ?", name, latest)
	if err := row.Scan((*[]byte)(&e.Server)); err != nil {
		return "", err
	}
	return latest, index(ctx, tx, name, registry.Fold(e.Text()))
}

// index updates the text that is searched of a server.
func index(ctx context.Context, tx *sql.Tx, name, text string) error {
	var id int64
	var old string
	err := tx.QueryRowContext(ctx, "SELECT id, text FROM servers WHERE name = ?", name).Scan(&id, &old)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if err := tx.QueryRowContext(ctx, "INSERT INTO servers (name, id, text) VALUES (?, (SELECT coalesce(max(id), 0) + 1 FROM servers), ?) RETURNING id", name, text).Scan(&id); err != nil {
			return err
		}
	case err != nil:
		return err
	case old == text:
		return nil
	default:
		if _, err := tx.ExecContext(ctx, "UPDATE servers SET text = ? WHERE name = ?", text, name); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM search WHERE rowid = ?", id); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO search (rowid, text) VALUES (?, ?)", id, text)
	return err
}

// ranked returns the versions of a server for registry.Latest.
func ranked(ctx context.Context, tx *sql.Tx, name string) ([]registry.Ranked, error) {
	rows, err := tx.QueryContext(ctx, "SELECT version, published, status FROM versions WHERE name = ?", name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []registry.Ranked
	for rows.Next() {
		var r registry.Ranked
		var published int64
		var status registry.Status
		if err := rows.Scan(&r.Version, &published, &status); err != nil {
			return nil, err
		}
		r.PublishedAt, r.Deleted = fromMicros(published), status == registry.Deleted
		all = append(all, r)
	}
	return all, rows.Err()
}

// SetStatus implements [registry.Store].
func (s *Store) SetStatus(ctx context.Context, name, version string, c *registry.Change) (changed []registry.Entry, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		changed, err = setStatus(ctx, tx, name, version, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func setStatus(ctx context.Context, tx *sql.Tx, name, version string, c *registry.Change) ([]registry.Entry, error) {
	const versions = "SELECT " + columns + " FROM versions v JOIN manifests m ON m.id = v.id WHERE v.name = ?1 AND (?2 = '' OR v.version = ?2) ORDER BY v.published DESC, v.version"
	all, err := query(ctx, tx, math.MaxInt, versions, name, version)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, registry.ErrNotFound
	}
	affected := map[string]bool{}
	for i := range all {
		state, differs := c.Apply(all[i].State)
		if !differs {
			continue
		}
		affected[all[i].Version] = true
		if _, err := tx.ExecContext(ctx, "UPDATE versions SET status = ?, message = ?, status_changed = ?, updated = ? WHERE name = ? AND version = ?",
			state.Status, state.StatusMessage, micros(state.StatusChangedAt), micros(state.UpdatedAt), name, all[i].Version); err != nil {
			return nil, err
		}
	}
	if len(affected) == 0 {
		return nil, registry.ErrUnchanged
	}
	if _, err := rank(ctx, tx, name); err != nil {
		return nil, err
	}
	if all, err = query(ctx, tx, math.MaxInt, versions, name, version); err != nil {
		return nil, err
	}
	var changed []registry.Entry
	for i := range all {
		if affected[all[i].Version] {
			changed = append(changed, all[i])
		}
	}
	return changed, nil
}

// Mirrored adds or replaces entries from another registry, and keeps the position of the mirror there, in
// one transaction. Which version of a server is the latest is decided anew.
func (s *Store) Mirrored(ctx context.Context, entries []registry.Entry, position []byte) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		names := map[string]bool{}
		for i := range entries {
			if err := put(ctx, tx, &entries[i]); err != nil {
				return err
			}
			names[entries[i].Name] = true
		}
		for name := range names {
			if _, err := rank(ctx, tx, name); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO mirror (id, position) VALUES (1, ?)", string(position))
		return err
	})
}

// MirrorPosition returns the position that Mirrored kept last, or nil.
func (s *Store) MirrorPosition(ctx context.Context) ([]byte, error) {
	var position []byte
	err := s.db.Reader.QueryRowContext(ctx, "SELECT position FROM mirror").Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return position, err
}
