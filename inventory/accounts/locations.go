package accounts

import (
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Places returns what the sender is limited to, as the last transaction or [Service.Check] of the
// request has read it; nil is no limit (REFERENCE.md, 3.7).
func (q *Request) Places() *records.Places { return q.places }

// checkOwn refuses a limited sender who changes what belongs to another user.
func (q *Request) checkOwn(userID string) error {
	if q.places != nil && !q.isSender(userID) {
		return auth.Denied()
	}
	return nil
}
