package registry

import (
	"context"

	"github.com/ashlar-go/ashlar/internal/listquery"
)

// List returns the page of a query, with the cursor of the next one.
func List(ctx context.Context, store Reader, q *Query) (*Page, error) {
	more := *q
	more.Limit++
	found, err := store.List(ctx, &more)
	if err != nil {
		return nil, err
	}
	page, size := &Page{Servers: found}, 0
	for i := range found {
		size += len(found[i].Server)
	}
	if len(found) > q.Limit || size >= MaxPageBytes {
		page.Servers = found[:min(len(found), q.Limit)]
		page.Metadata.NextCursor = listquery.EncodeCursor(PositionOf(&q.Filter, &page.Servers[len(page.Servers)-1]))
	}
	if page.Servers == nil {
		page.Servers = []Entry{}
	}
	page.Metadata.Count = len(page.Servers)
	return page, nil
}
