package main

import (
	"context"
	"testing"
)

// Ctrl-C is a good end, however early it comes.
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
