package bookcatalog

import (
	"context"
	_ "embed" // the samples
	"encoding/json"
	"fmt"
)

// samples contains example books.
//
//go:embed seed.json
var samples []byte

// Seed adds a few example books to an empty catalog. It does nothing if there are books.
func (c *Catalog) Seed(ctx context.Context) error {
	_, total, err := c.List(ctx, &Query{Limit: 1})
	if err != nil || total > 0 {
		return err
	}
	var books []Book
	if err := json.Unmarshal(samples, &books); err != nil {
		return fmt.Errorf("read the samples: %w", err)
	}
	for i := range books {
		if _, err := c.Add(ctx, &books[i]); err != nil {
			return err
		}
	}
	return nil
}
