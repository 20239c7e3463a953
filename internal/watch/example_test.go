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

// A certificate is loaded again when it changes. Dot files are left out, but not the
// link that Kubernetes swaps.
func ExampleDirs() {
	dir, err := os.MkdirTemp("", "tls")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	certificate := filepath.Join(dir, "tls.crt")
	_ = os.WriteFile(certificate, []byte("old"), 0o600)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	opts := &watch.Options{
		Quiet: 10 * time.Millisecond,
		Only: func(_, name string, _ watch.Op) bool {
			return name == "..data" || !strings.HasPrefix(name, ".")
		},
	}
	err = watch.Dirs(ctx, []string{dir}, opts, func() {
		text, _ := os.ReadFile(certificate)
		fmt.Println("loaded", string(text))
		if string(text) == "new" {
			cancel()
			return
		}
		_ = os.WriteFile(certificate+".next", []byte("new"), 0o600)
		_ = os.Rename(certificate+".next", certificate)
	})
	fmt.Println(err)
	// Output:
	// loaded old
	// loaded new
	// <nil>
}
