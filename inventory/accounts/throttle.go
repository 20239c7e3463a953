package accounts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/expiring"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// The throttle of guesses (REFERENCE.md, 3.5). A network is an IPv4 address or an IPv6 /64.
const (
	pairFailures    = 10  // wrong passwords per user name and network, and minute
	networkFailures = 50  // wrong passwords and reset codes per network and minute
	accountFailures = 100 // wrong passwords per user name and minute, before attempts are delayed
	accountDelay    = time.Second
	mailboxResets   = 5      // requested resets per email address and network, and hour
	allResets       = 5      // requested resets per email address and hour, before they wait
	networkResets   = 20     // requested resets per network and hour
	noticesPerHour  = 20     // of changes, to an email address; each process counts its own
	maxKnown        = 10_000 // remembered pairs of a user name and a network
	throttleMemory  = 8 << 20
	knownFor        = 10 * 365 * 24 * time.Hour
)

// throttle counts failures in the database, and requested resets and notices in bounded memory: the response to a
// requested reset waits for nothing.
//
// A right password is refused only where wrong ones come from: in the same network. A pair of
// user name and network that has logged in is known: other guesses do not affect it.
type throttle struct {
	pair, network, account       *counter // failures
	mailboxResets, networkResets *counter
	allResets, slots             *counter // of a mailbox, which delay; see Service.slowDown
	notices                      *counter // sent
	noted                        *counter // refusals with an audit log entry
	guesses                      inFlight

	known *expiring.Cache[string, struct{}] // pairs
	now   func() time.Time
}

// counter is a limit with its name in the audit log.
type counter struct {
	*ratelimit.Limiter
	name string
}

func newThrottle(engine *records.Engine) (*throttle, error) {
	now := engine.Now
	shared, own := attempts{engine}, memstore.MustNew(&memstore.Options{MaxBytes: throttleMemory, Now: now})
	t := &throttle{known: expiring.New[string, struct{}](maxKnown), now: now, guesses: inFlight{keys: map[string]*flights{}}}
	for _, row := range []struct {
		counter **counter
		store   ratelimit.Store
		name    string
		limit   uint32
		unit    ratelimit.Unit
	}{
		{&t.pair, shared, "pair", pairFailures, ratelimit.Minute},
		{&t.network, shared, "network", networkFailures, ratelimit.Minute},
		{&t.account, shared, "account", accountFailures, ratelimit.Minute},
		{&t.mailboxResets, own, "mailbox", mailboxResets, ratelimit.Hour},
		{&t.allResets, own, "mailbox", allResets, ratelimit.Hour},
		{&t.slots, own, "slots", 1, ratelimit.Hour},
		{&t.networkResets, own, "mail-network", networkResets, ratelimit.Hour},
		{&t.notices, own, "notices", noticesPerHour, ratelimit.Hour},
		{&t.noted, own, "noted", 1, ratelimit.Minute},
	} {
		limiter, err := ratelimit.NewLimiter(row.name, row.store, ratelimit.Per(row.limit, row.unit), &ratelimit.Options{Now: now})
		if err != nil {
			return nil, err
		}
		*row.counter = &counter{limiter, row.name}
	}
	return t, nil
}

// isKnown reports whether a pair has logged in.
func (t *throttle) isKnown(pair string) bool {
	_, ok, _ := t.known.Get(pair, t.now())
	return ok
}

// remember makes a pair known.
func (t *throttle) remember(pair string) {
	now := t.now()
	t.known.Put(pair, struct{}{}, now, now.Add(knownFor), 0)
}

// pair returns the key of a user name and the network of the sender.
func (q *Request) pair(account string) string { return strconv.Quote(account) + " " + q.Network }

// hashing returns a context in which hashes wait in turn with those of other networks. A user who
// is logged in or known does not wait for others. Guesses of one password from
// many networks are not put together: its user would have to wait for them.
func (s *Service) hashing(ctx context.Context, q *Request, username string) context.Context {
	pair := q.pair(accountKey(username))
	if q.Identity != nil || s.throttle.isKnown(pair) {
		return auth.WithPriority(auth.WithOrigins(ctx, "pair "+pair))
	}
	return auth.WithOrigins(ctx, "network "+q.Network)
}

// guess is an attempt to guess a password.
type guess struct {
	*Service
	q             *Request
	account, pair string
	leave         []func()
	codeFollows   bool // a right password alone does not make the pair known
}

// beginGuess admits an attempt, unless too many have failed. No more attempts are in flight than
// may still fail; others wait, so that nothing is hashed for attempts that will be refused. The
// caller calls end.
func (s *Service) beginGuess(ctx context.Context, q *Request, username string) (*guess, error) {
	account := accountKey(username)
	q.attempted = username
	g := &guess{Service: s, q: q, account: account, pair: q.pair(account)}
	known := s.throttle.isKnown(g.pair)
	if !known && s.peek(ctx, q, s.throttle.account, account) != nil {
		if err := backoff.Sleep(ctx, accountDelay); err != nil {
			return nil, err
		}
	}
	type limit struct {
		limiter *counter
		key     string
	}
	limits := []limit{{s.throttle.pair, g.pair}}
	if !known {
		limits = append(limits, limit{s.throttle.network, q.Network})
	}
	for _, l := range limits {
		leave, err := s.throttle.guesses.enter(ctx, l.key, func() (int, error) { return s.left(ctx, q, l.limiter, l.key) })
		if err != nil {
			g.end()
			return nil, err
		}
		g.leave = append(g.leave, leave)
	}
	return g, nil
}

// end ends the attempt.
func (g *guess) end() {
	for _, leave := range g.leave {
		leave()
	}
}

// verify checks a password, and counts a wrong one.
func (g *guess) verify(ctx context.Context, stored, password string) (bool, error) {
	ok, err := g.hasher.Verify(g.hashing(ctx, g.q, g.account), stored, password)
	switch {
	case err != nil:
		return false, err
	case ok:
		if !g.codeFollows {
			g.throttle.remember(g.pair)
		}
		return true, nil
	}
	return false, g.failed(ctx)
}

// failed counts a wrong password or code.
func (g *guess) failed(ctx context.Context) error {
	_ = g.count(ctx, g.q, g.throttle.account, g.account) // delays attempts only
	return cmp.Or(g.count(ctx, g.q, g.throttle.pair, g.pair), g.count(ctx, g.q, g.throttle.network, g.q.Network))
}

// inFlight bounds the calls in flight for each key.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]*flights
}

// flights are the calls of one key.
type flights struct {
	running, waiting int
	changed          chan struct{} // closed when one ends
}

// enter waits until fewer calls of a key run than left returns, and returns a function that ends
// the call. The error is that of left or of the context.
func (f *inFlight) enter(ctx context.Context, key string, left func() (int, error)) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.keys[key]
	if own == nil {
		own = &flights{changed: make(chan struct{})}
		f.keys[key] = own
	}
	defer f.tidy(key, own)
	for {
		n, err := left()
		if err != nil {
			return nil, err
		}
		if own.running < n {
			own.running++
			return func() { f.leave(key, own) }, nil
		}
		changed := own.changed
		own.waiting++
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.mu.Lock()
		own.waiting--
		if err != nil {
			return nil, err
		}
	}
}

func (f *inFlight) leave(key string, own *flights) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own.running--
	close(own.changed)
	own.changed = make(chan struct{})
	f.tidy(key, own)
}

// tidy forgets a key without calls.
func (f *inFlight) tidy(key string, own *flights) {
	if own.running == 0 && own.waiting == 0 {
		delete(f.keys, key)
	}
}

// left returns how often a limit may still be counted, or the error that it is used up.
func (s *Service) left(ctx context.Context, q *Request, c *counter, key string) (int, error) {
	status, err := c.AllowN(ctx, key, 0)
	if err == nil && (status.Code == ratelimit.OverLimit || status.Remaining == 0) {
		err = s.tooMany(ctx, q, c, key, status)
	}
	return int(status.Remaining), err
}

// peek refuses if a limit is used up, without counting.
func (s *Service) peek(ctx context.Context, q *Request, c *counter, key string) error {
	_, err := s.left(ctx, q, c, key)
	return err
}

// count counts one, and refuses if that exceeds the limit.
func (s *Service) count(ctx context.Context, q *Request, c *counter, key string) error {
	status, err := c.Allow(ctx, key)
	if err == nil && status.Code == ratelimit.OverLimit {
		err = s.tooMany(ctx, q, c, key, status)
	}
	return err
}

// TooManyError says that too many attempts have failed, or too many reset codes were requested.
type TooManyError struct {
	Limit      string // the limit that refuses: pair, network, account, code, mailbox or mail-network
	RetryAfter time.Duration
}

// Error returns the message for clients.
func (e *TooManyError) Error() string { return "Too many requests" }

// tooMany returns the refusal of an attempt, of which the first in a minute has an audit log entry.
func (s *Service) tooMany(ctx context.Context, q *Request, c *counter, key string, status ratelimit.Status) error {
	refusal := &TooManyError{c.name, time.Duration(max(status.ResetSeconds, 1)) * time.Second}
	if c == s.throttle.account { // which only delays
		return refusal
	}
	sum := sha256.Sum256([]byte(c.name + " " + key)) // keys may be long
	noted, err := s.throttle.noted.Allow(ctx, hex.EncodeToString(sum[:16]))
	if err != nil || noted.Code == ratelimit.OverLimit {
		return cmp.Or[error](err, refusal)
	}
	by, id := q.Caller(), ""
	if q.Identity != nil {
		id = q.Identity.UserID
	} else if q.attempted != "" {
		u, err := s.findName(ctx, q.attempted)
		if err != nil {
			return err
		}
		by, id = s.claimed(q, q.attempted, u)
	}
	return cmp.Or[error](s.note(ctx, by, "throttled", id, records.Changes{"limit": {After: c.name}}), refusal)
}

const (
	maxPrunedAttempts = 10 // counters that are deleted with each new one
	attemptTries      = 20 // of a count, while other processes change the same counter
)

// attempts counts in the database of the inventory (ratelimit.Store), so that all processes that share it count
// together, and a restart forgets nothing.
type attempts struct{ engine *records.Engine }

// Add implements ratelimit.Store.
func (a attempts) Add(ctx context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		hit := &hits[i]
		sum := sha256.Sum256(hit.Key) // keys may be long
		key := hex.EncodeToString(sum[:])
		var err error
		if hit.N == 0 {
			var found *inventory.Attempts
			found, err = records.First[inventory.Attempts](ctx, records.Fresh(a.engine.Store()), "key", key)
			if hit.Count = 0; found != nil {
				hit.Count = uint64(max(found.Number, 0))
			}
		} else {
			err = a.add(ctx, key, hit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a hit in a transaction of its own, and deletes some old counters.
func (a attempts) add(ctx context.Context, key string, hit *ratelimit.Hit) (err error) {
	for range attemptTries {
		err = a.engine.Store().Change(ctx, func(tx records.Tx) error {
			found, err := records.First[inventory.Attempts](ctx, tx, "key", key)
			if err != nil {
				return err
			}
			if found == nil {
				ends := time.Unix(hit.End(), 0).UTC()
				found = &inventory.Attempts{Key: key, Number: int64(hit.N), EndsAt: &ends}
				hit.Count = hit.N
				return a.create(ctx, tx, found)
			}
			found.Number += int64(hit.N)
			hit.Count = uint64(found.Number)
			before := found.Version
			found.Version++
			return tx.Update(ctx, found, before)
		})
		if kind := records.KindOf(err); kind != records.Conflict && kind != records.Stale && kind != records.NotFound {
			break
		}
	}
	return err
}

func (a attempts) create(ctx context.Context, tx records.Tx, counter *inventory.Attempts) error {
	r := records.Of[inventory.Attempts](tx.Schema())
	old, err := tx.List(ctx, &records.Query{Resource: r, Limit: maxPrunedAttempts})
	if err != nil {
		return err
	}
	for _, rec := range old.Records { // the oldest
		if ends := rec.(*inventory.Attempts).EndsAt; ends == nil || ends.Before(a.engine.Now()) {
			if err := tx.Delete(ctx, r, rec.Meta().ID, rec.Meta().Version, nil); err != nil {
				return err
			}
		}
	}
	if err := a.engine.Init(counter); err != nil {
		return err
	}
	return tx.Create(ctx, counter)
}
