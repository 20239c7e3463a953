package inventory

import (
	"context"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// LocationKind is the kind of a location.
type LocationKind string

// The kinds of locations.
const (
	LocationRegion   LocationKind = "region"
	LocationSite     LocationKind = "site"
	LocationBuilding LocationKind = "building"
	LocationFloor    LocationKind = "floor"
	LocationRoom     LocationKind = "room"
)

// Values returns all values.
func (LocationKind) Values() []string {
	return valueStrings(LocationRegion, LocationSite, LocationBuilding, LocationFloor, LocationRoom)
}

// MaxBelow is the maximum number of locations that [Below] returns.
const MaxBelow = 1000

// ValidateIn checks that no location is within itself (records.TxValidator).
func (l *Location) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, changed := before.(*Location)
	if l.ParentID == nil || changed && equalIDs(l.ParentID, old.ParentID) {
		return nil
	}
	if err := records.Serialize(ctx, tx, "parents of locations"); err != nil {
		return err
	}
	id := *l.ParentID
	for above := 1; id != ""; above++ {
		if id == l.ID {
			return refuse("location", "parent_id", records.Inconsistent("another location than itself and those within it"))
		}
		if above > maxParents {
			return refuse("location", "parent_id", records.TooMany(maxParents-1, "locations above it"))
		}
		parent, err := referred[Location, Location](ctx, tx, "parent_id", id)
		if err != nil {
			return err
		}
		id = stringOf(parent.ParentID)
	}
	return nil
}

// Below returns the ids of a location and of all within it, at most [MaxBelow]. more says that there are
// others.
func Below(ctx context.Context, from records.Reader, id string) (ids []string, more bool, err error) {
	if err := records.CheckStore(from, new(Location)); err != nil {
		return nil, false, err
	}
	ids = []string{id}
	for level := ids; len(level) > 0; {
		var next []string
		for some := range slices.Chunk(level, 100) {
			values := make([]any, len(some))
			for i, id := range some {
				values[i] = id
			}
			q := &records.Query{Resource: records.Of[Location](from.Schema()), Limit: MaxBelow}
			page, err := from.List(ctx, q.Where("parent_id", records.Condition{Op: records.In, Value: values}))
			if err != nil {
				return nil, false, err
			}
			for _, rec := range page.Records {
				next = append(next, rec.Meta().ID)
			}
			if page.More || len(ids)+len(next) > MaxBelow {
				return nil, true, nil
			}
		}
		ids, level = append(ids, next...), next
	}
	return ids, false, nil
}
