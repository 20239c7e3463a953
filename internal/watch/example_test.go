package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/watch"
)

// A file is loaded again when it changes. Dot files are ignored, except the link that
// Kubernetes swaps.
func ExampleDirs() {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "limits.yaml")
	_ = os.WriteFile(path, []byte("old"), 0o600)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	opts := &watch.Options{
		Quiet: 10 * time.Millisecond,
		Only: func(_, name string) bool {
			return name == "..data" || !strings.HasPrefix(name, ".")
		},
	}
	err = watch.Dirs(ctx, func() []string { return []string{dir} }, opts, func() {
		text, _ := os.ReadFile(path)
		fmt.Println("loaded", string(text))
		if string(text) == "new" {
			cancel()
			return
		}
		_ = os.WriteFile(path+".next", []byte("new"), 0o600)
		_ = os.Rename(path+".next", path)
	})
	fmt.Println(err)
	// Output:
	// loaded old
	// loaded new
	// <nil>
}
