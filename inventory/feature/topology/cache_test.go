package topology

import (
	"context"
	"errors"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// leaving is a reader whose client leaves when it begins to read.
type leaving struct {
	records.Reader
	leave func()
	lists int
}

func (l *leaving) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.lists++
	return l.Reader.List(ctx, q)
}

// quiet is the chain of an audit log without changes.
type quiet struct{ records.AuditChain }

func (quiet) AuditHead(ctx context.Context) (records.AuditPosition, error) {
	return records.AuditPosition{Seq: 1, Hash: []byte{1}}, ctx.Err()
}

// TestReadOnce: a network is read to its end though the request that began has ended, so that the next one finds it. The
// operator sees the status 503 of the first one in the log.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	from := &leaving{Reader: records.NewMemStore(inventory.Schema()), leave: cancel}
	cache := &networkCache{lock: make(chan struct{}, 1), from: from, chain: quiet{}}
	if _, _, err := cache.network(ctx); err != nil {
		t.Fatal(err)
	}
	read := from.lists
	if n, _, err := cache.network(t.Context()); err != nil || n == nil || from.lists != read || read == 0 {
		t.Errorf("%v; %d lists, then %d", err, read, from.lists)
	}
	if _, _, err := cache.network(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has ended gets %v", err)
	}
}
