package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// API tokens (REFERENCE.md, 3.8).
const (
	// TokenPrefix begins each API token. 26 characters of A-Z and 2-7 follow, 130 random bits.
	TokenPrefix = "ashlar_"
	// MaxTokens is the maximum number of API tokens of a user that have not expired.
	MaxTokens = 50
	// defaultTokenLifetime and maxTokenLifetime are the lifetimes of API tokens.
	defaultTokenLifetime = 90 * 24 * time.Hour
	maxTokenLifetime     = 366 * 24 * time.Hour

	tokenLength    = len(TokenPrefix) + 26
	tokenMemory    = 5 * time.Second // how long an API token and its user are remembered
	maxTokenMemory = 10_000          // API tokens that are remembered
)

// NewToken describes an API token that is to be created.
type NewToken struct {
	Name   string   // unique among those of the user
	Scopes []string // as in auth.Identity, 1 to auth.MaxScopes
	// LocationIDs are the locations that the token is limited to, besides those of its user. Nil is no
	// further limit.
	LocationIDs []string
	// ExpiresAt is at most maxTokenLifetime from now. Nil is defaultTokenLifetime.
	ExpiresAt *time.Time
	// CurrentPassword is that of a sender who creates their own token: verified if it is present, and
	// mandatory without Options.AllowWithoutCurrentPassword. Users without a password need none.
	CurrentPassword *string
}

// CreateToken creates an API token of a user and returns it with its text, which is not stored. The
// errors are [records.Invalid] with the field, [records.Conflict] for a name in use or too many tokens,
// and those of changes. The caller has checked that the sender may change the user.
func (s *Service) CreateToken(ctx context.Context, q *Request, userID string, t NewToken) (token *inventory.APIToken, text string, err error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return nil, "", err
	}
	token, text = &inventory.APIToken{UserID: u.ID, Name: t.Name, Scopes: slices.Clone(t.Scopes)}, TokenPrefix+rand.Text()
	token.Hash = hashToken(text)
	if token.ExpiresAt, err = s.tokenExpiry(t.ExpiresAt); err != nil {
		return nil, "", err
	}
	if err := auth.CheckScopes(t.Scopes, s.resourceNames()); err != nil {
		return nil, "", records.Refuse("scopes", records.Wrong("bad_format", "%v", err))
	}
	if err := records.Of[inventory.APIToken](s.store.Schema()).CheckNew(token); err != nil {
		return nil, "", err
	}
	if err := s.setLocations(ctx, token, t.LocationIDs); err != nil {
		return nil, "", err
	}
	if q.isSender(u.ID) && u.PasswordHash != "" {
		if err := s.checkCurrentPassword(ctx, q, u, t.CurrentPassword); err != nil {
			return nil, "", err
		}
	}
	if err := s.engine.Init(token); err != nil {
		return nil, "", err
	}
	err = s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error {
		if err := records.Serialize(ctx, tx, "api-tokens "+u.ID); err != nil { // to count them
			return err
		}
		if err := s.checkIn(ctx, tx, q); err != nil {
			return err
		}
		return q.checkOwn(u.ID)
	}).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		return s.addToken(ctx, tx, token)
	}).Log(ctx, q.Caller(), "token_created", s.users().Kind(), u.ID, records.Changes{
		"name": {After: token.Name}, "scopes": {After: token.Scopes}, "expires_at": {After: *token.ExpiresAt},
		"location_ids": {After: token.LocationIDs},
	})
	if err != nil {
		return nil, "", err
	}
	return token, text, nil
}

// tokenExpiry returns when a new API token expires.
func (s *Service) tokenExpiry(at *time.Time) (*time.Time, error) {
	now := s.engine.Now().UTC().Truncate(time.Microsecond)
	if at == nil {
		return new(now.Add(defaultTokenLifetime)), nil
	}
	if !at.After(now) || at.After(now.Add(maxTokenLifetime)) {
		return nil, records.Refuse("expires_at", records.OutOfRange("now", fmt.Sprintf("%d days later", maxTokenLifetime/(24*time.Hour)), ""))
	}
	return new(at.UTC().Truncate(time.Microsecond)), nil
}

// setLocations sets the locations of a new API token, which exist. One that is deleted later belongs to
// nobody.
func (s *Service) setLocations(ctx context.Context, token *inventory.APIToken, ids []string) error {
	for _, id := range ids {
		id = strings.ToLower(id)
		if !records.ValidID(id) {
			return records.Refuse("location_ids", records.BadID())
		}
		_, err := records.Get[inventory.Location](ctx, records.Fresh(s.store), id)
		if records.KindOf(err) == records.NotFound {
			return records.Refuse("location_ids", records.NoRecord("locations", id))
		} else if err != nil {
			return err
		}
		token.LocationIDs = append(token.LocationIDs, id)
	}
	if ids != nil && len(ids) == 0 {
		return records.Refuse("location_ids", records.Missing("omit it for no limit"))
	}
	return nil
}

// resourceNames returns the names of the resources that scopes may name.
func (s *Service) resourceNames() (names []string) {
	for _, r := range s.store.Schema().Resources() {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// addToken stores an API token, and deletes those of the user that have expired.
func (s *Service) addToken(ctx context.Context, tx records.Tx, token *inventory.APIToken) error {
	all, err := tokensOf(ctx, tx, token.UserID)
	if err != nil {
		return err
	}
	live := 0
	for _, old := range all {
		if s.engine.Now().Before(*old.ExpiresAt) {
			live++
			continue
		}
		if err := tx.Delete(ctx, records.Of[inventory.APIToken](tx.Schema()), old.ID, old.Version, nil); err != nil {
			return err
		}
	}
	if live >= MaxTokens {
		return &records.Error{Kind: records.Conflict, Message: fmt.Sprintf("A user has at most %d API tokens: end one first", MaxTokens)}
	}
	return tx.Create(ctx, token)
}

// tokensOf returns the stored API tokens of a user, the newest first.
func tokensOf(ctx context.Context, from records.Reader, userID string) ([]*inventory.APIToken, error) {
	id, _ := records.Of[inventory.APIToken](from.Schema()).Field("id")
	return records.Select[inventory.APIToken](ctx, from, &records.Query{Limit: MaxTokens + 1, Sort: []records.SortKey{{Field: id, Desc: true}}}, "user_id", userID)
}

// Tokens returns the API tokens of a user, the newest first, among them expired ones.
func (s *Service) Tokens(ctx context.Context, userID string) ([]*inventory.APIToken, error) {
	fresh := records.Fresh(s.store)
	if _, err := s.User(ctx, userID); err != nil {
		return nil, err
	}
	return tokensOf(ctx, fresh, userID)
}

// EndToken deletes an API token of a user. The error is of kind [records.NotFound] if there is none. The
// caller has checked that the sender may change the user.
func (s *Service) EndToken(ctx context.Context, q *Request, userID, id string) error {
	return s.endTokens(ctx, q, userID, func(ctx context.Context, tx records.Tx) ([]*inventory.APIToken, error) {
		token, err := records.Get[inventory.APIToken](ctx, tx, id)
		if err == nil && token.UserID != userID {
			err = records.Absent(records.Of[inventory.APIToken](tx.Schema()))
		}
		return []*inventory.APIToken{token}, err
	})
}

// EndTokens deletes all API tokens of a user. The caller has checked that the sender may change the user.
func (s *Service) EndTokens(ctx context.Context, q *Request, userID string) error {
	if _, err := s.User(ctx, userID); err != nil {
		return err
	}
	return s.endTokens(ctx, q, userID, func(ctx context.Context, tx records.Tx) ([]*inventory.APIToken, error) {
		return tokensOf(ctx, tx, userID)
	})
}

// endTokens deletes API tokens of a user together with an audit log entry, which names them.
func (s *Service) endTokens(ctx context.Context, q *Request, userID string, find func(context.Context, records.Tx) ([]*inventory.APIToken, error)) error {
	changes := records.Changes{}
	return s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error {
		if err := s.checkIn(ctx, tx, q); err != nil {
			return err
		}
		if err := q.checkOwn(userID); err != nil {
			return err
		}
		all, err := find(ctx, tx)
		if err != nil {
			return err
		}
		var names []string
		for _, token := range all {
			names = append(names, token.Name)
			if err := tx.Delete(ctx, records.Of[inventory.APIToken](tx.Schema()), token.ID, token.Version, nil); err != nil {
				return err
			}
		}
		changes["names"] = records.Change{Before: names}
		return nil
	}).Log(ctx, q.Caller(), "token_ended", s.users().Kind(), userID, changes)
}

// hashToken returns the stored form of an API token. A fast hash suffices for random bits.
func hashToken(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// AuthenticateToken returns the identity of the user of an API token, with the user's role and the
// token's scopes. It remembers both for 5 seconds. The error is an [*auth.Error] of an Unauthorized
// kind, or a failure.
func (s *Service) AuthenticateToken(ctx context.Context, text string) (who *auth.Identity, err error) {
	defer func() { s.countTokenUse(err) }()
	if len(text) != tokenLength || !strings.HasPrefix(text, TokenPrefix) {
		return nil, auth.Unauthorized(auth.TokenMalformed, "not an API token")
	}
	hash, now := hashToken(text), s.engine.Now()
	known, ok, age := s.tokens.Get(hash, now)
	if !ok {
		if known, err = s.findToken(ctx, hash); err != nil {
			return nil, err
		}
		s.tokens.Put(hash, known, now, now.Add(tokenMemory), age)
	}
	if !now.Before(known.expires) {
		return nil, tokenExpired()
	}
	identity := known.identity
	return &identity, nil
}

func tokenExpired() error { return auth.Unauthorized(auth.TokenExpired, "the API token has expired") }

// findToken reads an API token and its user.
func (s *Service) findToken(ctx context.Context, hash string) (*knownToken, error) {
	fresh := records.Fresh(s.store)
	token, err := records.First[inventory.APIToken](ctx, fresh, "hash", hash)
	if err != nil {
		return nil, err
	}
	if token == nil {
		return nil, auth.Unauthorized(auth.TokenRevoked, "the API token is unknown or has been ended")
	}
	u := &inventory.User{}
	state, err := stateOf(fresh.Schema(), token.UserID, "", func(r *records.Resource, id string) (records.Record, error) {
		rec, err := fresh.Get(ctx, r, id)
		if err == nil {
			u = rec.(*inventory.User)
		}
		return rec, err
	})
	if err != nil {
		return nil, err
	}
	if !state.Active {
		return nil, auth.Unauthorized(auth.TokenRevoked, "the user is inactive or deleted")
	}
	limit := &auth.Identity{}
	if len(token.LocationIDs) > 0 {
		limit.Locations = token.LocationIDs
	}
	return &knownToken{expires: *token.ExpiresAt, identity: auth.Identity{
		UserID: u.ID, Username: u.Username, Role: state.Role, Epoch: state.Epoch,
		Locations: state.Limit(limit), MustChangePassword: state.MustChangePassword,
		Method: "token", Token: token.ID, Scopes: append([]string{}, token.Scopes...), // not nil, which is no restriction
	}}, nil
}

// checkToken refuses a sender whose API token has ended.
func (s *Service) checkToken(who *auth.Identity, read func(r *records.Resource, id string) (records.Record, error)) error {
	rec, err := read(records.Of[inventory.APIToken](s.store.Schema()), who.Token)
	switch {
	case records.KindOf(err) == records.NotFound:
		return auth.Unauthorized(auth.TokenRevoked, "the API token has been ended")
	case err != nil:
		return err
	case !s.engine.Now().Before(*rec.(*inventory.APIToken).ExpiresAt):
		return tokenExpired()
	}
	return nil
}

// checkTokenEdit refuses the changes of a user that decide who can log in, if an API token was sent.
func checkTokenEdit(q *Request, before, u *inventory.User) error {
	if q.Identity == nil || q.Identity.Token == "" {
		return nil
	}
	for _, f := range []struct{ name, before, now string }{
		{"username", before.Username, u.Username}, {"email", before.Email, strings.ToLower(u.Email)},
	} {
		if f.before != f.now {
			return denied(f.name, "can't be changed with an API token: log in")
		}
	}
	return nil
}

// Forget forgets what is remembered of the API tokens of a user. Call it after a change of the user is
// committed, so that the change takes effect at once in this process.
func (s *Service) Forget(userID string) {
	s.tokens.Forget(func(_ string, known *knownToken) bool { return known.identity.UserID == userID })
}

// knownToken is an API token and its user.
type knownToken struct {
	identity auth.Identity
	expires  time.Time
}
