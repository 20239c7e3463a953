//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"go.uber.org/goleak"
)

// checkout is the root of this module.
const checkout = "../../.."

// programs returns the packages to build, each as a binary with its base name.
func programs() []string {
	return []string{
		"./cmd/ashlar", "./cmd/bookcatalogd", "./cmd/ratelimitd", "./cmd/inventoryctl", "./cmd/ratelimit-check", "./cmd/ratelimit-client", "./cmd/ratelimit-load",
		"./cmd/inventoryd", "./cmd/inventory-collect", "./cmd/manifest", "./examples/manifest-upload", "./examples/manifest-launch",
		"./examples/limiter", "./examples/mux", "./examples/grpcserver", "./examples/inventory-store",
		"./examples/counter-store", "./examples/discovery", "./examples/everything",
		"./examples/bookcatalog-mount", "./examples/bookcatalog-store", "./examples/inventory-mount", "./examples/inventory-extend", "./examples/inventory-limit",
		"./examples/inventory-follow", "./examples/api-keys",
	}
}

// binaries is the directory of the built programs. TestMain sets it before the tests run.
var binaries string

func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("text/dns", openapi3filter.RegisteredBodyDecoder("text/plain")) // of /sd/zone
	var err error
	if binaries, err = build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(binaries) // the system cleans its temporary directory too
		os.Exit(code)
	}))
}

func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "ashlar-e2e-"); err != nil {
		return "", err
	}
	args := slices.Concat([]string{"build"}, raceFlags(), []string{"-o", dir}, programs())
	cmd := exec.Command("go", args...)
	cmd.Dir = checkout
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("go %q: %w\n%s", args, err, out)
	}
	return dir, nil
}

// built returns the path of a built program.
func built(name string) string { return filepath.Join(binaries, name) }
