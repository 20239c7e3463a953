package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

// corpusCase is one document of the corpus with its expected verdict.
type corpusCase struct {
	file, reason, category string
	valid                  bool
	data                   []byte
}

// corpora returns directories of cases: the one in this tree, and another one in the same form
// if the environment names it, for manifests that cannot be published here.
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

// TestCorpusOneProblemPerFault checks that a document with one fault has one problem. All cases of
// the corpus have one fault, except for those listed here.
func TestCorpusOneProblemPerFault(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"invalid/multi-errors.json":           5,
		"invalid/multi-format.json":           2,
		"invalid/huge-2000-bad-packages.json": 6000,
	}
	advice := map[string]int{ // runtimeArguments without a runtimeHint
		"invalid/arg-runtime-bad.json": 1,
		"invalid/multi-errors.json":    1,
	}
	for _, c := range readCorpus(t, corpora()[0]) {
		if c.valid {
			continue
		}
		n, many := want[c.file]
		if !many {
			n = 1
		}
		if r := manifest.Validate(c.data, nil); r.Errors != n || r.Warnings != advice[c.file] {
			t.Errorf("%s has %d errors and %d warnings, want %d and %d: %s\n%v", c.file, r.Errors, r.Warnings, n, advice[c.file], c.reason, r.Problems)
		}
	}
}

// TestCorpusCategories compares the category of the corpus with that of the rule.
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
			if p.Severity == manifest.Error && categories[p.Rule] != want[c.category] {
				t.Errorf("%s: rule %s is of category %q, want %q", c.file, p.Rule, categories[p.Rule], want[c.category])
			}
		}
	}
}
