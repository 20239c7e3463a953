package httpapi

import (
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// request returns what the accounts know of the request.
func (c *call) request() *accounts.Request {
	if c.account == nil {
		c.account = &accounts.Request{Network: c.opts.Clients.Key(c.r), UserAgent: c.r.UserAgent(), Lifetime: c.accounts.Lifetime}
		by := c.unverified("")
		c.account.Address, c.account.RequestID = by.Address, by.RequestID
	}
	c.account.Identity, c.account.Preview = c.identity, nil
	if c.dryRun {
		c.account.Preview = &c.preview
	}
	return c.account
}

// inventory returns what applies the changes of the request, with the account of the sender checked
// in the transaction; in a dry run it commits none.
func (c *call) inventory() *records.Engine {
	switch {
	case c.accounts != nil && c.route.resource != nil && isUsers(c.route.resource):
		return c.accounts.Service.UserChanges(c.request())
	case c.accounts != nil:
		return c.accounts.Service.Changes(c.request())
	case c.dryRun:
		return c.changes.DryRun(&c.preview).LimitTo(c.limit)
	case c.places != nil:
		return c.changes.LimitTo(c.limit)
	}
	return c.changes
}

// showsAccounts reports whether a resource is that of users or of the audit log.
func (c *call) showsAccounts(r *records.Resource) bool {
	return isUsers(r) || r.Name == records.Of[records.AuditLog](c.schema).Name
}

// checkReader reads the account of the sender again before a read that shows accounts.
func (c *call) checkReader(r *records.Resource) error {
	if c.accounts == nil || !c.showsAccounts(r) {
		return nil
	}
	if err := c.accounts.Service.Check(c.r.Context(), c.request()); err != nil {
		return err
	}
	c.places = c.account.Places()
	return c.checkPlaced(r)
}
