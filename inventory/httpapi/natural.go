package httpapi

import (
	"context"
	"maps"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// resolving calls do with an engine and the objects of a request. If they have natural keys
// (REFERENCE.md, 1.9), they get ids in place of them, in the transaction of the engine, which may call
// do more than once, each time with other copies.
func (c *call) resolving(v *records.Engine, r *records.Resource, items []records.Patch, do func(ctx context.Context, in *records.Engine, items []records.Patch) error) error {
	if !slices.ContainsFunc(items, r.HasNaturalKeys) {
		return do(c.r.Context(), v, items)
	}
	for _, item := range items {
		for name := range item {
			if f, ok := r.ByMember(name); !ok {
				continue
			} else if err := c.mayUse(f.Ref.Resource(), records.RouteList); err != nil {
				return err
			}
		}
	}
	return v.Together(c.r.Context(), func(ctx context.Context, in *records.Engine) error {
		own := make([]records.Patch, len(items))
		for i, item := range items {
			own[i] = maps.Clone(item)
		}
		wrong, err := in.Resolve(ctx, r, own)
		if err == nil {
			err = records.JoinItemErrors(r, wrong, len(items))
		}
		if err != nil {
			return err
		}
		return do(ctx, in, own)
	})
}

// mayUse checks whether the sender may perform an operation on a resource that the route does not name.
func (c *call) mayUse(r *records.Resource, does records.Routes) error {
	return c.permit(r, does, c.allows(ofAll(accessTo(r, does)), "", r, does))
}
