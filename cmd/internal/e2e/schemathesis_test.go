//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// refusals are the statuses that refuse what the document does not allow. Without them schemathesis takes 412 for an acceptance,
// which a request gets whose If-Match names another version, whatever its body.
const refusals = "[checks.negative_data_rejection]\nexpected-statuses = [\"4xx\"]\n"

// TestSoakSchemathesis compares what inventoryd accepts and responds with its document: schemathesis sends requests that
// the document allows, and some that it refuses, one by one and in sequences that use what earlier ones created.
//
// Left out are the operations that end the session of the test, or lock its account, and one check: that everything the
// document allows is accepted. The records that a request refers to, unique keys and rules about two fields are beyond it.
func TestSoakSchemathesis(t *testing.T) {
	// Not in parallel: TestSoakLoad compares the memory of servers under a steady load.
	program := os.Getenv("ASHLAR_SCHEMATHESIS")
	if _, err := exec.LookPath(program); err != nil {
		what := fmt.Sprintf("NO SCHEMATHESIS, so the API is not compared with its document: ASHLAR_SCHEMATHESIS, which .ci/run sets, is %q: %v", program, err)
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	i := startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), nil, "-demo", "-devices", "200")
	limit, phases := scaletest.Soak(t)/6, "examples,coverage,fuzzing,stateful"
	if limit < 3*time.Minute { // the first phases alone take longer than a minute
		limit, phases = time.Minute, "stateful"
	}
	args := []string{
		"run", i.url + "/openapi.json", "--no-color", "--continue-on-failure", "--max-time", fmt.Sprint(int(limit.Seconds())), "--phases", phases,
		"--header", "Authorization: Bearer " + i.token, "--request-timeout", "40", // a request for changes waits up to 30 s
		"--exclude-checks", "positive_data_acceptance", "--warnings", "off",
	}
	for _, id := range []string{
		"logout", "endSession", "changePassword", "deleteUser", "deleteUsers", "changeUser", "changeUsers", "replaceUser", "startTOTP", "enableTOTP",
	} {
		args = append(args, "--exclude-operation-id", id)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "schemathesis.toml"), []byte(refusals), 0o600))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", regexp.MustCompile(`(?s)=+ SUMMARY.*`).Find(out))
	require.NoError(t, err, "%s", out)
	code, text := i.send("GET", "/devices?limit=1", "")
	require.Equal(t, 200, code, "the session of the test has not ended: %s", text)
}
