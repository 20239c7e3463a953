package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// NoticeKind is the subject of a [Notice].
type NoticeKind string

// The kinds of notices.
const (
	ResetRequested  NoticeKind = "reset requested"  // it has the code
	Invited         NoticeKind = "invited"          // it has the code
	PasswordChanged NoticeKind = "password changed" // by whatever way
	EmailChanged    NoticeKind = "email changed"    // to the earlier address
	EmailSet        NoticeKind = "email set"        // to the new address, which may be somebody else's
)

// Who changed an account, in general terms ([Notice.By]).
const (
	ByOwner = "owner" // logged in
	ByAdmin = "admin" // another user
	ByCode  = "code"  // who had a reset code
)

// Notice is a message by email to the user of an account.
type Notice struct {
	Kind    NoticeKind
	To      string          // the email address, which is not always User.Email
	User    *inventory.User // a copy, after the change
	By      string          // ByOwner, ByAdmin or ByCode; "" with a code
	At      time.Time       // of the change or the request
	Address string          // of the client; may be empty

	Code  string        // of ResetRequested and Invited
	Valid time.Duration // of the code
}

// notice adds the notices of a change of a user to those of the request. A transaction may run again:
// its first step forgets them.
func (s *Service) notice(q *Request, by string, before, after *inventory.User) {
	add := func(kind NoticeKind, to string) {
		q.notices = append(q.notices, &Notice{
			Kind: kind, To: to, User: records.Clone(after), By: by, At: s.engine.Now(), Address: q.Address,
		})
	}
	if after.PasswordHash != before.PasswordHash {
		add(PasswordChanged, before.Email)
	}
	if after.Email != before.Email {
		add(EmailChanged, before.Email)
		add(EmailSet, after.Email)
	}
}

// SendNotices sends the notices of the changes of a request through [Service.UserChanges], after these
// have been committed. A notice that can't be sent is logged.
func (s *Service) SendNotices(ctx context.Context, q *Request) {
	ctx = context.WithoutCancel(ctx) // the change has been made
	notices := q.notices
	q.notices = nil
	if q.Preview != nil {
		return
	}
	for _, n := range notices {
		status, err := s.throttle.notices.Allow(ctx, n.To)
		switch {
		case err != nil:
		case status.Code == ratelimit.OverLimit:
			err = errors.New("too many for this address")
		default:
			err = s.notify(ctx, n)
		}
		if err != nil {
			s.opts.Log.ErrorContext(ctx, "notice not sent", "about", n.Kind, "user", n.User.ID, "request_id", q.RequestID, "error", err)
		}
	}
}

func (s *Service) notify(ctx context.Context, n *Notice) error {
	if s.opts.Notify == nil {
		return nil
	}
	return s.opts.Notify(ctx, n)
}
