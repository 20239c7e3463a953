package httpapi

import (
	"strings"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A sender may be limited to locations (REFERENCE.md, 3.7). Everything that a request reads comes from
// call.store, which then has only what belongs there, and its changes go through call.inventory.

// limitTo sets the sender of the request, and what they may see.
func (c *call) limitTo(who *auth.Identity) {
	own := ""
	if c.accounts != nil {
		own = who.UserID
	}
	c.identity, c.places = who, records.NewPlaces(who.Locations, own)
	c.store = records.Limited(c.API.store, c.places)
}

// limit returns what the changes of the request are limited to.
func (c *call) limit() *records.Places { return c.places }

// checkPlaced refuses limited senders what belongs to no location, except their own user.
func (c *call) checkPlaced(r *records.Resource) error {
	if c.places == nil || r.Placed() || c.accounts != nil && isUsers(r) && c.isSender(strings.ToLower(c.r.PathValue("id"))) {
		return nil
	}
	return auth.Denied()
}
