package accounts

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/expiring"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Options configure a [Service]. Nil means the defaults.
type Options struct {
	// Notify sends a user an email about their account, such as a reset code. It is called after the
	// change was committed, and must not wait for the delivery; the change stands if it fails. It is
	// called concurrently. Its error for an Invited notice, such as ErrNoMail, makes [Service.Invite] return the code.
	// Default: nothing is sent, so that nobody has a reset code.
	Notify func(ctx context.Context, n *Notice) error
	// AllowWithoutCurrentPassword lets users change their own password and email address without the
	// current password, which is verified if they send it. Default: it is required (REFERENCE.md, 3.3).
	AllowWithoutCurrentPassword bool
	// Issuer names this inventory in the authenticator apps of users with a second factor. Default:
	// "Inventory".
	Issuer string
	// External decides about logins through an identity provider.
	External ExternalOptions
	// Roles are the roles of the program, with what they may do: scopes as those of auth.Identity, each 1
	// to auth.MaxScopes. The schema has their names (inventory.Roles). Default: none.
	Roles map[auth.Role][]string
	// Log receives errors that no caller gets, such as an email that could not be sent.
	// Default: slog.Default().
	Log *slog.Logger
}

// Service has the rules of accounts. Create it with [New]. It is safe for concurrent use. The
// counters of requested resets are those of the process: create one for all transports, and close it before the store.
type Service struct {
	engine    *records.Engine
	store     records.Store
	hasher    *auth.Hasher
	opts      Options
	throttle  *throttle
	digestKey [32]byte                             // of user names that do not exist
	used      *expiring.Cache[string, struct{}]    // sessions and API tokens whose last use was stored
	tokens    *expiring.Cache[string, *knownToken] // by their hash
	logins    counts
	tokenUses counts
	requested *resetQueue
}

var errNeeds = errors.New("accounts: engine and hasher are required")

// New returns the service for the users of an inventory. All changes go through the engine, with its
// clock and its hooks. The schema has the resource users of package inventory. opts may be nil.
func New(engine *records.Engine, hasher *auth.Hasher, opts *Options) (*Service, error) {
	if engine == nil || hasher == nil {
		return nil, errNeeds
	}
	if err := records.CheckStore(engine.Store(), &inventory.User{}, &inventory.Attempts{}); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	s := &Service{
		engine: engine, store: engine.Store(), hasher: hasher,
		used: expiring.New[string, struct{}](maxUsed), tokens: expiring.New[string, *knownToken](maxTokenMemory),
	}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Log = cmp.Or(s.opts.Log, slog.Default())
	s.opts.Issuer = cmp.Or(s.opts.Issuer, "Inventory")
	if err := s.checkRoles(); err != nil {
		return nil, err
	}
	_, _ = rand.Read(s.digestKey[:]) // never fails
	s.requested = newResetQueue(s.handleReset)
	var err error
	s.throttle, err = newThrottle(engine)
	return s, err
}

// Request describes the sender of a request.
type Request struct {
	Identity  *auth.Identity   // of the sender; nil for none
	Address   string           // for the audit log
	Network   string           // for throttling: an IPv4 address or an IPv6 /64
	UserAgent string           // of the client, for sessions
	Lifetime  time.Duration    // of the session that a login begins; 0 is 24 hours
	RequestID string           // for the audit log
	Code      string           // of a second factor, or a recovery code; "" for none
	Preview   *records.Preview // receives what would change, and makes it a dry run. Nil: it is none.

	attempted    string // the user name that was typed; not for the log
	adminRemoved bool   // the transaction removes an active admin

	places      *records.Places // of the sender, as last read
	ownPassword bool            // the sender changes their own password
	confirmed   *confirmed      // by the current password; nil if it was not sent
	notices     []*Notice       // of the changes of the transaction
}

// Caller returns the sender for the audit log.
func (q *Request) Caller() records.Caller {
	by := q.unverified("")
	if q.Identity != nil {
		by.Name = q.Identity.Username
		if records.ValidID(q.Identity.UserID) {
			by.UserID = q.Identity.UserID
		}
	}
	return by
}

// unverified returns a sender without a verified identity, for the audit log.
func (q *Request) unverified(name string) records.Caller {
	return records.Caller{Name: name, Address: q.Address, RequestID: q.RequestID}
}

// as returns a user as the caller of a change.
func (q *Request) as(u *inventory.User) records.Caller {
	by := q.unverified(u.Username)
	by.UserID = u.ID
	return by
}

// isSender reports whether a user is the sender of the request.
func (q *Request) isSender(userID string) bool {
	return q.Identity != nil && q.Identity.UserID == userID
}

// unchecked returns what applies the changes of a request, without the account of the sender.
func (s *Service) unchecked(q *Request) *records.Engine {
	if q.Preview != nil {
		return s.engine.DryRun(q.Preview)
	}
	return s.engine
}

// users returns the resource of users.
func (s *Service) users() *records.Resource { return records.Of[inventory.User](s.store.Schema()) }

// User returns the current state of the user with an id, bypassing replicas.
func (s *Service) User(ctx context.Context, id string) (*inventory.User, error) {
	return records.Get[inventory.User](ctx, records.Fresh(s.store), id)
}

// find returns the user with a value of a column, bypassing replicas; nil if there is none.
func (s *Service) find(ctx context.Context, column, value string) (*inventory.User, error) {
	if strings.ContainsRune(value, 0) {
		return nil, nil // no database stores it, and some refuse to search for it
	}
	return records.First[inventory.User](ctx, records.Fresh(s.store), column, value)
}

// note adds an audit log entry for an event of an account. Its resource is the user, so that others
// do not see it in the feed of changes.
func (s *Service) note(ctx context.Context, by records.Caller, action, userID string, changes records.Changes) error {
	return s.engine.Log(ctx, by, action, s.users().Kind(), userID, changes)
}

// typed returns what an entry says of a user name that does not exist: people type passwords there.
// The key of the digest is that of the process.
func (s *Service) typed(name string) string {
	mac := hmac.New(sha256.New, s.digestKey[:])
	mac.Write([]byte(name))
	return "unknown " + hex.EncodeToString(mac.Sum(nil)[:6])
}

// claimed returns the caller and the user id of an entry for somebody who claims to be a user; u is
// nil if there is none of that name.
func (s *Service) claimed(q *Request, username string, u *inventory.User) (by records.Caller, id string) {
	if u == nil {
		return q.unverified(s.typed(username)), ""
	}
	return q.unverified(u.Username), u.ID
}

// denied returns the error for a field that the sender may not change.
func denied(field, reason string) error {
	e := records.PermissionDenied()
	e.Fields = []records.FieldError{{Field: field, Code: "forbidden", Reason: reason}}
	return e
}

// Statistics holds the counts of a [Service] since it was created.
type Statistics struct {
	// Logins are attempts to log in by result: ok, wrong_password (also for an unknown user), inactive,
	// throttled, and failed for other errors.
	Logins map[string]int64
	// APITokens are uses of API tokens by result: ok, malformed, expired, revoked (also unknown), and failed
	// for errors of the store.
	APITokens map[string]int64
}

// Statistics returns what the service has counted. All results are present.
func (s *Service) Statistics() Statistics {
	return Statistics{
		s.logins.all("ok", "wrong_password", "inactive", "throttled", "failed"),
		s.tokenUses.all("ok", "malformed", "expired", "revoked", "failed"),
	}
}

// counts counts by result.
type counts struct {
	mu sync.Mutex
	of map[string]int64
}

func (c *counts) add(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int64{}
	}
	c.of[result]++
}

// all returns the numbers, with 0 for these results that have not occurred.
func (c *counts) all(results ...string) map[string]int64 {
	all := map[string]int64{}
	for _, result := range results {
		all[result] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(all, c.of)
	return all
}

// countLogin counts an attempt to log in with its error.
func (s *Service) countLogin(err error) {
	result := "failed"
	var many *TooManyError
	switch kind := records.KindOf(err); {
	case err == nil:
		result = "ok"
	case kind == records.Unauthenticated:
		result = "wrong_password"
	case kind == records.Forbidden:
		result = "inactive"
	case errors.As(err, &many):
		result = "throttled"
	}
	s.logins.add(result)
}

// countTokenUse counts a use of an API token with its error.
func (s *Service) countTokenUse(err error) {
	switch kind := auth.KindOf(err); {
	case err == nil:
		s.tokenUses.add("ok")
	case kind.Unauthorized():
		s.tokenUses.add(kind.String())
	default:
		s.tokenUses.add("failed")
	}
}
