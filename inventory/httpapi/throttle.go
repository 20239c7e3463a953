package httpapi

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// What may go wrong, and how often (reference, ruling 11). An address is that of a
// client, with IPv6 by /64.
const (
	accountFailures = 10 // a minute: wrong passwords for one name
	addressFailures = 50 // a minute: wrong passwords and reset codes from one address
	mailboxResets   = 5  // an hour: resets that are asked for one mail address
	addressResets   = 20 // an hour: resets that are asked for from one address
	throttleMemory  = 8 << 20
)

// throttle counts what guesses and floods look like, in bounded memory.
type throttle struct {
	account, address     *ratelimit.Limiter // failures
	mailbox, mailAddress *ratelimit.Limiter // resets asked for
}

func newThrottle(now func() time.Time) (*throttle, error) {
	store := memstore.New(&memstore.Options{MaxBytes: throttleMemory, Now: now})
	t := &throttle{}
	for _, row := range []struct {
		limiter **ratelimit.Limiter
		name    string
		most    uint32
		unit    ratelimit.Unit
	}{
		{&t.account, "account", accountFailures, ratelimit.Minute},
		{&t.address, "address", addressFailures, ratelimit.Minute},
		{&t.mailbox, "mailbox", mailboxResets, ratelimit.Hour},
		{&t.mailAddress, "mail-address", addressResets, ratelimit.Hour},
	} {
		var err error
		if *row.limiter, err = ratelimit.NewLimiter(row.name, store, ratelimit.Per(row.most, row.unit), &ratelimit.Options{Now: now}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// addressKey is where a request counts.
func (c *call) addressKey() string { return c.opts.Clients.Key(c.r) }

// accountKey is the name under which an account counts, whether it is there or not.
func accountKey(username string) string { return strings.ToLower(username) }

// guessing refuses an attempt for an account, or from an address, of which too many have
// failed. Ask before the attempt, and again after it: of many at the same time, those
// that end too late learn nothing.
func (c *call) guessing(username string) error {
	if err := c.spent(c.throttle.address, c.addressKey()); err != nil || username == "" {
		return err
	}
	return c.spent(c.throttle.account, accountKey(username))
}

// failed counts a failure. The error is that there were too many by now.
func (c *call) failed(username string) error {
	err := c.take(c.throttle.address, c.addressKey())
	if username == "" {
		return err
	}
	return cmp.Or(c.take(c.throttle.account, accountKey(username)), err)
}

// spent refuses if there is nothing left, and counts nothing.
func (c *call) spent(limiter *ratelimit.Limiter, key string) error {
	status, err := limiter.AllowN(c.r.Context(), key, 0)
	if err == nil && (status.Code == ratelimit.OverLimit || status.Remaining == 0) {
		err = tooMany(status)
	}
	return err
}

// take counts one, and refuses if that is one too many.
func (c *call) take(limiter *ratelimit.Limiter, key string) error {
	status, err := limiter.Allow(c.r.Context(), key)
	if err == nil && status.Code == ratelimit.OverLimit {
		err = tooMany(status)
	}
	return err
}

func tooMany(status ratelimit.Status) error {
	return &httpx.Error{
		Status: http.StatusTooManyRequests, Message: "Too many requests",
		Header: http.Header{"Retry-After": {strconv.FormatUint(uint64(max(status.ResetSeconds, 1)), 10)}},
	}
}
