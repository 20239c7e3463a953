package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// Refused changes, and reads of users and of the audit log, are entries of the audit log too
// (REFERENCE.md, 4). Their resource is the user, so that others do not see them in the feed of changes.
const (
	refused      = "refused"
	readAccounts = "read"
)

// noteMemory bounds what is remembered of the events of the last minute.
const noteMemory = 4 << 20

func newNotes(engine *records.Engine) (*ratelimit.Limiter, error) {
	store := memstore.MustNew(&memstore.Options{MaxBytes: noteMemory, Now: engine.Now})
	return ratelimit.NewLimiter("notes", store, ratelimit.Per(1, ratelimit.Minute), &ratelimit.Options{Now: engine.Now})
}

// noteOnce adds an entry for the request and its sender, at most one a minute for a key.
func (c *call) noteOnce(action, key string) error {
	sum := sha256.Sum256([]byte(action + " " + key)) // keys may be long
	status, err := c.api.notes.Allow(c.r.Context(), hex.EncodeToString(sum[:16]))
	if err != nil || status.Code == ratelimit.OverLimit {
		return err
	}
	return c.api.changes.Log(c.r.Context(), c.caller(), action, "user", c.identity.UserID, c.requested())
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
		c.api.opts.Log.ErrorContext(c.r.Context(), "refused change not in the audit log", "error", err)
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
		c.api.opts.Log.ErrorContext(c.r.Context(), "read not in the audit log", "error", err)
		return nil
	}
	return err
}
