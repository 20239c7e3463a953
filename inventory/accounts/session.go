package accounts

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	// MaxSessions is the maximum number of sessions that [Service.Sessions] returns.
	MaxSessions = 100

	maxPruned       = 20 // sessions that a login deletes because they have ended
	defaultLifetime = 24 * time.Hour
	usedInterval    = 10 * time.Minute // how precise LastUsed is
	maxUsed         = 10_000           // sessions and API tokens whose last use is remembered
	usedTimeout     = time.Second
)

// live reports whether a session has not ended at a time.
func live(session *inventory.Session, u *inventory.User, now time.Time) bool {
	return session.Epoch == u.Epoch && (session.ExpiresAt == nil || now.Before(*session.ExpiresAt))
}

// sessionsOf returns stored sessions of a user, ended ones included: the oldest, or the newest.
func sessionsOf(ctx context.Context, from records.Reader, userID string, newest bool, limit int64) ([]*inventory.Session, error) {
	id, _ := records.Of[inventory.Session](from.Schema()).Field("id")
	return records.Select[inventory.Session](ctx, from, &records.Query{Limit: limit, Sort: []records.SortKey{{Field: id, Desc: newest}}}, "user_id", userID)
}

// newSession returns the session of a login that is not stored yet.
func (s *Service) newSession(q *Request, u *inventory.User) (*inventory.Session, error) {
	lifetime := q.Lifetime
	if lifetime <= 0 {
		lifetime = defaultLifetime
	}
	now := s.engine.Now().UTC().Truncate(time.Microsecond)
	session := &inventory.Session{
		UserID: u.ID, LastUsed: &now, ExpiresAt: new(now.Add(lifetime)),
		Address: printable.Prefix(q.Address, 64), UserAgent: printable.Truncate(q.UserAgent, 250),
	}
	return session, s.engine.Init(session)
}

// addSession stores a session in the transaction of a login, and deletes some that have ended.
func (s *Service) addSession(ctx context.Context, tx records.Tx, session *inventory.Session) error {
	u, err := records.Get[inventory.User](ctx, tx, session.UserID)
	if err != nil {
		return err
	}
	oldest, err := sessionsOf(ctx, tx, u.ID, false, maxPruned)
	if err != nil {
		return err
	}
	for _, old := range oldest {
		if live(old, u, s.engine.Now()) {
			continue
		}
		err := tx.Delete(ctx, records.Of[inventory.Session](tx.Schema()), old.ID, old.Version, nil)
		if kind := records.KindOf(err); err != nil && kind != records.NotFound && kind != records.Stale {
			return err
		}
	}
	session.Epoch = u.Epoch
	return tx.Create(ctx, session)
}

// Sessions returns the sessions of a user, the newest first, at most MaxSessions.
func (s *Service) Sessions(ctx context.Context, userID string) ([]*inventory.Session, error) {
	fresh := records.Fresh(s.store)
	u, err := records.Get[inventory.User](ctx, fresh, userID)
	if err != nil {
		return nil, err
	}
	all, err := sessionsOf(ctx, fresh, userID, true, MaxSessions)
	return slices.DeleteFunc(all, func(session *inventory.Session) bool { return !live(session, u, s.engine.Now()) }), err
}

// EndSession ends a session of a user. The error is of kind [records.NotFound] if there is none. The
// caller has checked that the sender may change the user.
func (s *Service) EndSession(ctx context.Context, q *Request, userID, id string) error {
	return s.endSession(ctx, s.UserChanges(q), q, "session_ended", userID, id)
}

// endSession deletes a session together with an audit log entry.
func (s *Service) endSession(ctx context.Context, v *records.Engine, q *Request, action, userID, id string) error {
	return v.BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		r := records.Of[inventory.Session](tx.Schema())
		if err := q.checkOwn(userID); err != nil {
			return err
		}
		session, err := records.Get[inventory.Session](ctx, tx, id)
		if err == nil && session.UserID != userID {
			err = records.Absent(r)
		}
		if err != nil {
			return err
		}
		return tx.Delete(ctx, r, id, session.Version, nil)
	}).Log(ctx, q.Caller(), action, s.users().Kind(), userID, nil)
}

// Used notes that the session or the API token of the sender is in use, for [inventory.Session].LastUsed
// and [inventory.APIToken].LastUsed, which are precise to ten minutes. A failure is logged only; the next
// use after ten minutes is noted.
func (s *Service) Used(ctx context.Context, who *auth.Identity) {
	if who == nil || who.Session == "" && who.Token == "" {
		return
	}
	r, id := records.Of[inventory.Session](s.store.Schema()), who.Session
	if who.Token != "" {
		r, id = records.Of[inventory.APIToken](s.store.Schema()), who.Token
	}
	now := s.engine.Now()
	_, recent, age := s.used.Get(id, now)
	if recent {
		return
	}
	s.used.Put(id, struct{}{}, now, now.Add(usedInterval), age)
	ctx, cancel := context.WithTimeout(ctx, usedTimeout)
	defer cancel()
	_, err := records.New(s.store, nil).Update(ctx, records.Caller{}, r, records.Edit{ID: id, Apply: func(rec records.Record) error {
		last := lastUse(rec)
		if *last == nil || now.Sub(**last) >= usedInterval {
			*last = &now
		}
		return nil
	}})
	if err != nil && records.KindOf(err) != records.NotFound {
		s.opts.Log.DebugContext(ctx, "last use not stored", "of", r.Noun(), "error", err)
	}
}

// lastUse returns the field of a session or an API token with its last use.
func lastUse(rec records.Record) **time.Time {
	if t, ok := rec.(*inventory.APIToken); ok {
		return &t.LastUsed
	}
	return &rec.(*inventory.Session).LastUsed
}

// stateOf returns the state of a user and of a session, "" for none, that read returns.
func stateOf(schema *records.Schema, userID, session string, read func(r *records.Resource, id string) (records.Record, error)) (state auth.AccountState, err error) {
	userID, session = strings.ToLower(userID), strings.ToLower(session)
	if !records.ValidID(userID) {
		return state, nil
	}
	rec, err := read(records.Of[inventory.User](schema), userID)
	switch {
	case records.KindOf(err) == records.NotFound:
		return state, nil
	case err != nil:
		return state, err
	}
	u := rec.(*inventory.User)
	state = auth.AccountState{Active: !u.InactiveStatus, Role: auth.Role(u.Role), Epoch: u.Epoch, MustChangePassword: u.MustChangePassword}
	if len(u.LocationIDs) > 0 {
		state.Locations = u.LocationIDs
	}
	if session == "" {
		return state, nil
	}
	state.Ended = true
	if !records.ValidID(session) {
		return state, nil
	}
	rec, err = read(records.Of[inventory.Session](schema), session)
	switch {
	case records.KindOf(err) == records.NotFound:
		return state, nil
	case err != nil:
		return auth.AccountState{}, err
	}
	state.Ended = rec.(*inventory.Session).UserID != u.ID
	return state, nil
}
