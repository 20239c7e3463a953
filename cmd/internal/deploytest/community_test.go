package deploytest_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

// TestSecurityText checks the fields of security.txt (RFC 9116, section 2.5). It does not compare
// Expires with the present.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	fields := map[string][]string{}
	for line := range strings.Lines(read(t, "deploy/security.txt")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		require.Contains(t, []string{"Contact", "Expires", "Preferred-Languages", "Policy"}, name)
		fields[name] = append(fields[name], value)
	}
	require.Len(t, fields["Expires"], 1)
	_, err := time.Parse(time.RFC3339, fields["Expires"][0])
	require.NoError(t, err)
	require.NotEmpty(t, fields["Contact"])
	for _, contact := range append(fields["Contact"], fields["Policy"]...) {
		u, err := url.Parse(contact)
		require.NoError(t, err)
		require.Equal(t, "https", u.Scheme)
		require.NoError(t, markdown.New("", "").Follow(contact, os.DirFS(checkout)))
	}
}

// TestIssueTemplates checks the forms: known fields, unique ids, and a label for each question.
func TestIssueTemplates(t *testing.T) {
	t.Parallel()
	const dir = ".github/ISSUE_TEMPLATE/"
	for _, name := range []string{"bug.yml", "feature.yml"} {
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID    string
				Attributes  struct{ Label, Description string }
				Validations struct{ Required bool }
			}
		}
		strict(t, dir+name, &form)
		require.NotEmpty(t, form.Name)
		require.NotEmpty(t, form.Description)
		seen := map[string]bool{}
		for _, question := range form.Body {
			require.Contains(t, []string{"textarea", "input"}, question.Type)
			require.NotEmpty(t, question.Attributes.Label)
			require.False(t, seen[question.ID], "duplicate id %s", question.ID)
			seen[question.ID] = true
		}
		require.NotEmpty(t, seen)
	}
	var config struct {
		Blank bool                                `yaml:"blank_issues_enabled"`
		Links []struct{ Name, URL, About string } `yaml:"contact_links"`
	}
	strict(t, dir+"config.yml", &config)
	require.NotEmpty(t, config.Links)
}

// TestDocumentLinks checks the links of the pages in docs, and that README.md lists each decision.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	names := []string{"CODE_OF_CONDUCT.md", "SECURITY.md", "docs/security-model.md", "docs/hardening.md"}
	found, err := filepath.Glob(filepath.Join(checkout, "docs/decisions/*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	list := read(t, "docs/decisions/README.md")
	for _, file := range found {
		base := filepath.Base(file)
		names = append(names, "docs/decisions/"+base)
		require.True(t, base == "README.md" || strings.Contains(list, "]("+base+")"), "%s is not listed", base)
	}
	for _, name := range names {
		require.FileExists(t, filepath.Join(checkout, name))
		report(t, readPage(t, name).CheckLinks(os.DirFS(checkout)))
	}
	entries, err := os.ReadDir(filepath.Join(checkout, composeDir))
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); name != "README.md" && name != ".gitignore" && name != ".env" {
			require.Contains(t, read(t, composeDir+"/README.md"), name)
		}
	}
}
