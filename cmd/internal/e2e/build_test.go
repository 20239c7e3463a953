//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// checkout is the root of this module.
const checkout = "../../.."

// programs returns the packages to build, each as a binary with its base name.
func programs() []string {
	return []string{
		"./cmd/ashlar", "./cmd/bookcatalogd", "./cmd/ratelimitd", "./cmd/inventoryctl", "./cmd/ratelimit-check", "./cmd/ratelimit-client", "./cmd/internal/ratelimit-load",
		"./cmd/inventoryd", "./cmd/inventory-collect", "./cmd/manifest", "./examples/manifest-upload", "./examples/manifest-launch",
		"./examples/limiter", "./examples/mux", "./examples/grpcserver", "./examples/inventory-store",
		"./examples/counter-store", "./examples/own-algorithm", "./examples/discovery",
		"./examples/bookcatalog-store", "./examples/inventory-mount", "./examples/webhook-receiver",
		"./examples/inventory-follow", "./examples/inventory-contracts", "./examples/api-keys", "./examples/worker", "./examples/redis-limit", "./examples/token-budget", "./examples/notes",
	}
}

// binaries is the directory of the built programs. TestMain sets it before the tests run.
var binaries string

func TestMain(m *testing.M) {
	if file := os.Getenv(receiving); file != "" {
		fmt.Fprintln(os.Stderr, receive(file))
		os.Exit(1)
	}
	needed := programs()
	// TestSources makes the result depend on all sources.
	if scaletest.Only("TestSources", "TestEveryProgramExplainsItself", "TestReadmeShowsTheWelcome", "TestDecisions", "TestInventoryDemo",
		"TestBooksOfEarlierSchemas", "TestManifestValidate", "TestMistakes") {
		needed = slices.DeleteFunc(needed, func(dir string) bool { return strings.HasPrefix(dir, "./examples/") })
	}
	openapi3filter.RegisterBodyDecoder("text/dns", openapi3filter.RegisteredBodyDecoder("text/plain")) // of /sd/zone
	var err error
	if binaries, err = servertest.Build(checkout, raceFlags(), needed...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// raceFlags returns the flags to build programs as these tests were built. As in the Makefile, the
// SQLite driver is not instrumented.
func raceFlags() []string {
	if !scaletest.Race() {
		return nil
	}
	return []string{"-race", "-gcflags=modernc.org/...=-race=false"}
}

// built returns the path of a built program.
func built(name string) string { return filepath.Join(binaries, name) }
