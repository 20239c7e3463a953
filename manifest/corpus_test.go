package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

// corpusCase is a line of the corpus's list of verdicts.
type corpusCase struct {
	file, reason, category string
	valid                  bool
	data                   []byte
}

// corpora are directories of cases. One lies in this tree. Another in the same form
// is tested too if the environment names it: manifests of others, which are not
// ours to keep here.
func corpora() []string {
	dirs := []string{filepath.Join("testdata", "corpus")}
	if more := os.Getenv("ASHLAR_MANIFEST_CORPUS"); more != "" {
		dirs = append(dirs, more)
	}
	return dirs
}

// corpus reads all cases. The verdicts are tab-separated: file, verdict, reason,
// and last the category of the rule.
func corpus(t testing.TB) []corpusCase {
	t.Helper()
	var cases []corpusCase
	for _, dir := range corpora() {
		cases = append(cases, readCorpus(t, dir)...)
	}
	return cases
}

func readCorpus(t testing.TB, dir string) []corpusCase {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "expect.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		data, err := os.ReadFile(filepath.Join(dir, cells[0]))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, corpusCase{
			file: cells[0], valid: cells[1] == "valid", reason: cells[2], category: cells[len(cells)-1], data: data,
		})
	}
	return cases
}

func TestCorpusVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t) {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			report := manifest.Validate(c.data, nil)
			if report.Valid() != c.valid {
				t.Errorf("valid is %v, want %v: %s\n%v", report.Valid(), c.valid, c.reason, report.Problems)
			}
		})
	}
}

// TestCorpusOneProblemPerFault: a document with one fault has one problem, and
// every case of the corpus has one fault but those that say otherwise.
func TestCorpusOneProblemPerFault(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"invalid/multi-errors.json":           5,
		"invalid/multi-format.json":           2,
		"invalid/huge-2000-bad-packages.json": 6000,
		"invalid/repo-empty.json":             2, // both keys are missing
	}
	for _, c := range readCorpus(t, corpora()[0]) {
		if c.valid {
			continue
		}
		n, many := want[c.file]
		if !many {
			n = 1
		}
		if r := manifest.Validate(c.data, nil); r.Errors != n || r.Warnings != 0 {
			t.Errorf("%s has %d errors and %d warnings, want %d and none: %s\n%v", c.file, r.Errors, r.Warnings, n, c.reason, r.Problems)
		}
	}
}

// TestCorpusCategories: what the corpus says of where a rule comes from is what the
// rule says of itself.
func TestCorpusCategories(t *testing.T) {
	t.Parallel()
	categories := make(map[manifest.Rule]manifest.Category)
	for _, r := range manifest.Rules() {
		categories[r.Rule] = r.Category
	}
	want := map[string]manifest.Category{
		"syntax": manifest.CategorySyntax, "syntax-strict": manifest.CategorySyntax, "limits": manifest.CategorySyntax,
		"schema": manifest.CategorySchema,
	}
	for _, c := range readCorpus(t, corpora()[0]) {
		if c.valid || want[c.category] == "" || strings.HasPrefix(c.file, "invalid/multi") {
			continue
		}
		for _, p := range manifest.Validate(c.data, nil).Problems {
			if categories[p.Rule] != want[c.category] {
				t.Errorf("%s: rule %s is of category %q, want %q", c.file, p.Rule, categories[p.Rule], want[c.category])
			}
		}
	}
}
