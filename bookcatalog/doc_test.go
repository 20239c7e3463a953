package bookcatalog_test

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestTour checks that the code in the package comment is code that is compiled and run: each
// of its lines stands in one of the examples, in the same order.
func TestTour(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, name := range []string{"example_test.go", "httpapi/example_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, strings.Split(string(text), "\n")...)
	}
	shown := 0
	for line := range strings.SplitSeq(f.Doc.Text(), "\n") {
		code, ok := strings.CutPrefix(line, "\t")
		if !ok {
			continue
		}
		shown++
		for len(examples) > 0 && examples[0] != "\t"+code {
			examples = examples[1:]
		}
		if len(examples) == 0 {
			t.Fatalf("the tour shows a line that is in no example, or not in this order:\n%s", code)
		}
	}
	if shown < 20 {
		t.Errorf("the tour shows %d lines of code", shown)
	}
}
