package main

import (
	"context"
	"testing"
)

// TestInterrupted checks that serve returns nil if it is interrupted early.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for range 300 {
		if err := serve(ctx, "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
}
