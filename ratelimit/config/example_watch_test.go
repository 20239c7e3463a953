package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// An engine follows a directory; the example ends with the second version.
func ExampleWatch() {
	root, err := os.MkdirTemp("", "ratelimit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	save := func(limit int) {
		text := fmt.Sprintf("domain: shop\ndescriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: %d}}]\n", limit)
		next := filepath.Join(root, ".next")
		_ = os.WriteFile(next, []byte(text), 0o600)
		_ = os.Rename(next, filepath.Join(root, "shop.yaml"))
	}
	save(100)

	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	loaded := func(c *config.Config) {
		engine.Use(c.Ruleset)
		limit := c.Domains[0].Rules[0].Limit
		fmt.Println(c.Files[0], "allows", limit.RequestsPerUnit, "requests per", limit.Unit)
		if limit.RequestsPerUnit == 200 {
			cancel()
			return
		}
		save(200) // an operator saves while the engine decides
	}
	failed := func(err error) { fmt.Println("the rules in use stay:", err) }

	opts := &config.WatchOptions{WatchContents: true, Load: &config.Options{IgnoreDotFiles: true}}
	err = config.Watch(ctx, config.Dir{Root: root}, opts, loaded, failed)
	fmt.Println(err)
	// Output:
	// shop.yaml allows 100 requests per minute
	// shop.yaml allows 200 requests per minute
	// <nil>
}
