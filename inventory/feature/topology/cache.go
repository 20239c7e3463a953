package topology

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxPassed is the maximum number of changes that are looked at to find out whether a network has
// changed. With more it is read again.
const maxPassed = 1000

// maxReading bounds the reading of the network of all records. It goes on when the request that began it gets 503, so
// that a later one finds it.
const maxReading = time.Minute

// networkCache remembers the network of all records, which takes long to read, and the position in the
// audit log at which it was read. It holds as long as no entry after that position is about the graph.
type networkCache struct {
	lock  chan struct{} // full while the cache is in use
	from  records.Reader
	chain records.AuditChain

	at      records.AuditPosition
	known   *network // nil for none
	working *graph.Graph
}

// network returns the network of all records and its graph without what is down.
func (k *networkCache) network(ctx context.Context) (*network, *graph.Graph, error) {
	select {
	case k.lock <- struct{}{}:
		defer func() { <-k.lock }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	head, err := k.chain.AuditHead(ctx) // before the network, which may be newer
	if err != nil {
		return nil, nil, err
	}
	holds, err := k.holds(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	if !holds {
		k.known, k.working = nil, nil // not two at a time
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReading)
		defer cancel()
		n, err := readNetwork(reading, k.from, nil)
		if err != nil {
			return nil, nil, err
		}
		k.at, k.known, k.working = head, n, n.Working()
	}
	return k.known, k.working, nil
}

// holds reports whether the network has not changed up to a position, and moves to it. The digests
// show whether the entries are those after the position of the cache: the database may have been
// restored, and entries may have been pruned.
func (k *networkCache) holds(ctx context.Context, head records.AuditPosition) (bool, error) {
	switch {
	case k.known == nil || len(k.at.Hash) == 0 || head.Seq < k.at.Seq || head.Seq > k.at.Seq+maxPassed:
		return false, nil
	case head.Seq == k.at.Seq:
		return bytes.Equal(head.Hash, k.at.Hash), nil
	}
	entries, err := k.chain.AuditAfter(ctx, k.at.Seq, maxPassed)
	if err != nil {
		return false, err
	}
	at := k.at
	for _, e := range entries {
		at = at.Next(e.Digest)
		if e.Entry == nil || at.Seq != e.Seq || !bytes.Equal(at.Hash, e.Hash) || changesNetwork(k.from.Schema(), e.Entry) {
			return false, nil
		}
	}
	k.at = at
	return at.Seq >= head.Seq, nil
}

// changesNetwork reports whether an entry of the audit log is about the graph: a device or link that
// is new or deleted, or a field of which the graph depends.
func changesNetwork(schema *records.Schema, e *records.AuditLog) bool {
	fields := map[string][]string{
		"devices":    {"hostname", "role", "status", "location_id"},
		"interfaces": {"device_id", "status", "admin_status", "oper_status"},
		"links":      {"a_interface_id", "b_interface_id", "status"},
	}
	for name, of := range fields {
		r, ok := schema.Named(name)
		if !ok || r.Kind() != e.ResourceType {
			continue
		}
		return e.Action != "update" && name != "interfaces" ||
			slices.ContainsFunc(of, func(field string) bool { _, changed := e.Changes[field]; return changed && e.Action == "update" })
	}
	return false
}
