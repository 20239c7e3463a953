package records

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Hidden stands for the id of a record that the caller does not see, where another one refers to it: in what is read
// ([Mask]), and in an update of an engine of [Engine.LimitTo] for what is stored.
const Hidden = "00000000-0000-0000-0000-000000000000"

// unlimiter is a reader of [Limited].
type unlimiter interface {
	unlimited() (Reader, *Places)
}

// Mask returns records of a resource as the caller of a reader of [Limited] may see them: in copies references to records that
// the reader does not have are [Hidden]. With another reader it returns the records.
func Mask(ctx context.Context, from Reader, r *Resource, recs ...Record) ([]Record, error) {
	if _, ok := from.(unlimiter); !ok {
		return recs, nil
	}
	copies := make([]Record, len(recs))
	for i, rec := range recs {
		copies[i] = Clone(rec)
	}
	return copies, mask(ctx, from, false, func(seen func(r *Resource, id string) string) {
		for _, rec := range copies {
			for _, f := range r.fields {
				if id, ok := f.Value(rec).(string); ok && f.Ref != nil && !slices.Contains(r.Within, f.Name) {
					f.Set(rec, seen(f.Ref.resource, id))
				}
			}
		}
	})
}

// MaskChanges does to entries of the audit log what [Mask] does to records: to the references in Changes, and to Cause. A
// record that was deleted is one that the caller sees if they saw its deletion.
func MaskChanges(ctx context.Context, from Reader, entries ...*AuditLog) error {
	kinds := map[string]*Resource{}
	for _, r := range from.Schema().Resources() {
		kinds[r.Kind()] = r
	}
	return mask(ctx, from, true, func(seen func(r *Resource, id string) string) {
		for _, e := range entries {
			if kind, id, _ := strings.Cut(e.Cause, "/"); kinds[kind] != nil {
				e.Cause = kind + "/" + seen(kinds[kind], id)
			}
			e.Changes = e.Changes.clone()
			for name, c := range e.Changes {
				if r := kinds[e.ResourceType]; r != nil && r.byName[name] != nil && r.byName[name].Ref != nil {
					for _, v := range []*any{&c.Before, &c.After} {
						if id, ok := (*v).(string); ok {
							*v = seen(r.byName[name].Ref.resource, id)
						}
					}
					e.Changes[name] = c
				}
			}
		}
	})
}

// mask calls each twice: with a function that notes the ids, and then with one that returns [Hidden] for those of records
// that a reader of [Limited] does not have, or whose deletion its caller did not see. It does nothing with another reader.
func mask(ctx context.Context, from Reader, deleted bool, each func(seen func(r *Resource, id string) string)) error {
	of, ok := from.(unlimiter)
	if !ok {
		return nil
	}
	all, only := of.unlimited()
	refs := map[*Resource]map[string]string{} // what is shown, by resource and id
	each(func(r *Resource, id string) string {
		if refs[r] == nil {
			refs[r] = map[string]string{}
		}
		refs[r][id] = Hidden
		return id
	})
	for r, ids := range refs {
		for chunk := range slices.Chunk(slices.Collect(maps.Keys(ids)), keysAtOnce) {
			found, err := from.List(ctx, (&Query{Resource: r, Limit: keysAtOnce}).WhereIn("id", chunk))
			if err != nil {
				return err
			}
			for _, rec := range found.Records {
				ids[rec.Meta().ID] = rec.Meta().ID
			}
			if chunk = slices.DeleteFunc(chunk, func(id string) bool { return ids[id] == id }); !deleted || len(chunk) == 0 {
				continue
			}
			q := (&Query{Resource: Of[AuditLog](all.Schema()), Limit: keysAtOnce}).WhereIn("resource_id", chunk)
			entries, err := Select[AuditLog](ctx, all, q, "action", "delete")
			if err != nil {
				return err
			}
			for _, e := range entries {
				if only.Seen(e) != nil {
					ids[e.ResourceID] = e.ResourceID
				}
			}
		}
	}
	each(func(r *Resource, id string) string { return refs[r][id] })
	return nil
}

// keepHidden sets what is stored in place of [Hidden] in an update.
func (r *Resource) keepHidden(before, after Record) {
	for _, f := range r.fields {
		if stored := f.Value(before); f.Ref != nil && stored != nil && f.Value(after) == Hidden {
			f.Set(after, stored)
		}
	}
}
