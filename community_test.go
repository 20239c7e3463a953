package ashlar_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

// TestLists checks that the list of decisions and that of the compose files are complete.
func TestLists(t *testing.T) {
	t.Parallel()
	for dir, others := range map[string]string{"docs/decisions": "README.md", "deploy/compose": "README.md .gitignore"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !strings.Contains(read(t, dir+"/README.md")+others, entry.Name()) {
				t.Errorf("%s/README.md does not name %s", dir, entry.Name())
			}
		}
	}
}

// TestSecurityText checks the fields of security.txt (RFC 9116, section 2.5). It does not compare
// Expires with the present.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	text := read(t, "deploy/security.txt")
	fields := regexp.MustCompile(`^(#.*\n|(Contact|Policy): https://\S+\n|(Expires|Preferred-Languages): .*\n|\n)*$`)
	expires := regexp.MustCompile(`(?m)^Expires: (.*)$`).FindAllStringSubmatch(text, -1)
	if !fields.MatchString(text) || !strings.Contains(text, "\nContact: ") || len(expires) != 1 {
		t.Fatalf("unknown or missing fields:\n%s", text)
	}
	if _, err := time.Parse(time.RFC3339, expires[0][1]); err != nil {
		t.Error(err)
	}
	for _, link := range regexp.MustCompile(`https://\S+`).FindAllString(text, -1) {
		if err := markdown.New("", "").Follow(link, os.DirFS(".")); err != nil {
			t.Error(err)
		}
	}
}

// TestGitHub checks that each question of the forms of issues has an id and a label, and the workflow.
func TestGitHub(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bug.yml", "feature.yml"} {
		text := read(t, ".github/ISSUE_TEMPLATE/"+name)
		ids := regexp.MustCompile(`(?m)^    id: (\w+)$`).FindAllString(text, -1)
		slices.Sort(ids)
		if n := len(ids); n == 0 || len(slices.Compact(ids)) != n || strings.Count(text, "  - type: ") != n || strings.Count(text, "      label: ") != n {
			t.Errorf("%s: %d different ids, one for each question with a label", name, n)
		}
	}
	if !strings.Contains(read(t, ".github/workflows/ci.yml"), "run: .ci/run\n") {
		t.Error("the workflow does not run .ci/run")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
