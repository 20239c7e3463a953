// Command limiter applies one limit to many keys, each with its own counter, inside this process:
// no server, no configuration, only the standard library.
//
//	go run ./examples/limiter
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "limiter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	// Three logins per hour for each user. A limiter is safe for concurrent use.
	logins, err := ratelimit.NewLimiter("logins", memstore.MustNew(nil), ratelimit.Per(3, ratelimit.Hour), nil)
	if err != nil {
		return err // the limit is invalid
	}
	for _, user := range []string{"ann", "ann", "ann", "ann", "bob"} {
		status, err := logins.Allow(ctx, user)
		if err != nil {
			return err // the store failed; memstore never does
		}
		// A denial is a value, not an error.
		if !status.Allowed() {
			fmt.Fprintf(w, "%s: denied, %d an %v are too few: come back in %v\n", user, status.RequestsPerUnit, status.Unit, status.Reset())
			continue
		}
		fmt.Fprintf(w, "%s: welcome, %d left\n", user, status.Remaining)
	}
	// AllowN adds several hits at once: all are allowed, or none.
	status, err := logins.AllowN(ctx, "eve", 4)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "eve, four times at once: %v\n", status.Code)
	return nil
}
