package httpapi

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// Events of accounts that change no record are entries of the audit log too (REFERENCE.md, 4). Their
// resource is the user, so that others do not see them in the feed of changes.

// The actions of such events.
const (
	loginFailed   = "login_failed"
	passwordWrong = "password_wrong" // a wrong current_password
	resetFailed   = "reset_failed"   // a wrong reset code
	throttled     = "throttled"
	refused       = "refused" // a change without permission
	readAccounts  = "read"    // of users or of the audit log
)

// noteMemory bounds what is remembered of the events of the last minute.
const noteMemory = 4 << 20

func newNotes(engine *records.Engine) (*ratelimit.Limiter, error) {
	store := memstore.New(&memstore.Options{MaxBytes: noteMemory, Now: engine.Now})
	return ratelimit.NewLimiter("notes", store, ratelimit.Per(1, ratelimit.Minute), &ratelimit.Options{Now: engine.Now})
}

// note adds an entry for an event of an account.
func (c *call) note(by records.Caller, action, userID string, changes records.Changes) error {
	return c.changes.Log(c.r.Context(), by, action, "user", userID, changes)
}

// noteOnce adds an entry for the request and its sender, at most one a minute for a key.
func (c *call) noteOnce(action, key string) error {
	if first, err := c.firstNote(action, key); err != nil || !first {
		return err
	}
	return c.note(c.caller(), action, c.identity.UserID, c.requested())
}

// firstNote reports whether there was no entry for a key in this minute.
func (c *call) firstNote(action, key string) (bool, error) {
	sum := sha256.Sum256([]byte(action + " " + key)) // keys may be long
	status, err := c.notes.Allow(c.r.Context(), hex.EncodeToString(sum[:16]))
	return err == nil && status.Code != ratelimit.OverLimit, err
}

// noteThrottled notes that a limit refuses an attempt, and returns the refusal.
func (c *call) noteThrottled(limiter *counter, key string, status ratelimit.Status) error {
	refusal := tooMany(status)
	if limiter == c.throttle.account { // which only delays
		return refusal
	}
	if first, err := c.firstNote(throttled, limiter.name+" "+key); err != nil || !first {
		return cmp.Or(err, refusal)
	}
	by, id := c.caller(), ""
	if c.identity != nil {
		id = c.identity.UserID
	} else if c.attempted != "" {
		var err error
		if by, id, err = c.attempt(c.attempted); err != nil {
			return err
		}
	}
	return cmp.Or(c.note(by, throttled, id, records.Changes{"limit": {After: limiter.name}}), refusal)
}

// attempt returns the caller and the user id of an entry for somebody who claims to be a user.
func (c *call) attempt(username string) (by records.Caller, id string, err error) {
	u, err := c.findUser(c.userField("username"), username)
	by, id = c.claimed(username, u)
	return by, id, err
}

// claimed is attempt for a user who was looked up: nil if there is none.
func (c *call) claimed(username string, u *inventory.User) (by records.Caller, id string) {
	if u == nil {
		return c.unverified(c.typed(username)), ""
	}
	return c.unverified(u.Username), u.ID
}

// requested describes the request in an entry.
func (c *call) requested() records.Changes {
	text := c.r.Method + " " + c.r.URL.Path
	if c.r.URL.RawQuery != "" {
		text += "?" + c.r.URL.RawQuery
	}
	return records.Changes{"request": {After: printable.Truncate(text, 500)}}
}

// noteRefused notes a change that the sender may not make. The refusal stands if that fails.
func (c *call) noteRefused() {
	if c.route.method == http.MethodGet || c.identity == nil {
		return
	}
	err := c.noteOnce(refused, c.keyOwner()+" "+c.route.method+" "+c.route.path)
	if err != nil {
		c.opts.Log.ErrorContext(c.r.Context(), "refused change not in the audit log", "error", err)
	}
}

// noteRead notes that the sender reads users or the audit log, once a minute for each path and
// filters: the pages of a list are one reading. Nobody is noted for reading their own record. A full
// database can still be read.
func (c *call) noteRead(r *records.Resource) error {
	if !c.showsAccounts(r) || isUsers(r) && c.isSender(strings.ToLower(c.r.PathValue("id"))) {
		return nil
	}
	filters := url.Values{}
	for name, values := range c.query {
		if name != "page" && name != "cursor" {
			filters[name] = values
		}
	}
	err := c.noteOnce(readAccounts, c.keyOwner()+" "+c.r.URL.Path+"?"+filters.Encode())
	if records.KindOf(err) == records.Full {
		c.opts.Log.ErrorContext(c.r.Context(), "read not in the audit log", "error", err)
		return nil
	}
	return err
}

// typed returns what an entry says of a user name that does not exist: people type passwords there.
// The key of the digest is that of the process.
func (a *API) typed(name string) string {
	mac := hmac.New(sha256.New, a.digestKey[:])
	mac.Write([]byte(name))
	return "unknown " + hex.EncodeToString(mac.Sum(nil)[:6])
}
