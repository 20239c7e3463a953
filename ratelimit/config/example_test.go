package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

func Example() {
	files := []config.File{{Name: "mongo.yaml", Data: []byte(`
domain: mongo
descriptors:
  - key: database
    value: users
    rate_limit: {unit: second, requests_per_unit: 500}
  - key: database
    rate_limit: {unit: second}
`)}}
	c, err := config.Parse(files, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Domains[0].Rules[0].Limit.RequestsPerUnit, "requests per", c.Domains[0].Rules[0].Limit.Unit)
	fmt.Println(c.Ruleset.Has("mongo"))
	fmt.Println(c.Warnings[0])
	// Output:
	// 500 requests per second
	// true
	// mongo.yaml:8:5: requests_per_unit is missing: it counts as 0, which puts every request over the limit
}

// All faults of all files are reported at once.
func ExampleLoad() {
	files := fstest.MapFS{
		"mongo.yaml":     {Data: []byte("domain: mongo\ndescriptors:\n  - key: database\n    rate_limit: {unit: seconds}\n")},
		"sub/redis.yaml": {Data: []byte("domain: redis\ndescriptors:\n  - key: database\n    ratelimit: {}\n  - value: users\n")},
	}
	_, err := config.Load(files, nil)
	fmt.Println(err)
	// Output:
	// mongo.yaml:4:24: invalid rate limit unit 'seconds': did you mean 'second'?
	// sub.redis.yaml:4:5: config error, unknown key 'ratelimit': did you mean 'rate_limit'?
	// sub.redis.yaml:4:5: invalid rate limit unit '': use second, minute, hour, day, week, month or year
	// sub.redis.yaml:5:5: descriptor has empty key
}

// A deployment has a root that is swapped as a whole, with a directory for each
// application.
func ExampleLoadDir() {
	root, err := os.MkdirTemp("", "runtime")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "ratelimit", "config")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	text := "domain: mongo\ndescriptors: [{key: database, rate_limit: {unit: second, requests_per_unit: 500}}]\n"
	if err := os.WriteFile(filepath.Join(dir, "mongo.yaml"), []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}

	c, err := config.LoadDir(config.Dir{Root: root, Subdirectory: "ratelimit", AppDirectory: "config"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Files, c.Ruleset.Has("mongo"))

	_, err = config.LoadDir(config.Dir{Root: root, Subdirectory: "ratelimit", AppDirectory: "configs"}, nil)
	fmt.Println("the directory does not exist:", errors.Is(err, fs.ErrNotExist))
	// Output:
	// [mongo.yaml] true
	// the directory does not exist: true
}
