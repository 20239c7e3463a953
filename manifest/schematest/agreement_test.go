package schematest_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// corpusFiles returns the files of the corpus, and of another one in the same form if the
// environment names its directory.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	dirs := []string{filepath.Join("..", "testdata", "corpus")}
	if more := os.Getenv("ASHLAR_MANIFEST_CORPUS"); more != "" {
		dirs = append(dirs, more)
	}
	var files []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
		if err != nil || len(found) < 200 {
			t.Fatalf("%s has %d files (%v): expected at least 200", dir, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

func TestCorpusAgreement(t *testing.T) {
	t.Parallel()
	b := newComparison(t)
	for _, file := range corpusFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			b.compare(t, data, value)
		}
	}
	if b.valid < 50 || b.notValid < 50 {
		t.Errorf("only %d documents were valid and %d not", b.valid, b.notValid)
	}
	t.Logf("%d documents are valid, %d are not", b.valid, b.notValid)
}

func TestGeneratedAgreement(t *testing.T) {
	t.Parallel()
	b := newComparison(t)
	g := generator{rand.New(rand.NewPCG(7, 42))}
	documents := 100_000
	if testing.Short() {
		documents = 5_000
	}
	for range documents {
		value := g.document()
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if !b.compare(t, data, value) {
			t.Fatalf("%s has a problem of the syntax", data)
		}
		if t.Failed() {
			return
		}
	}
	if least := documents / 5; b.valid < least || b.notValid < least {
		t.Errorf("of %d documents %d are valid and %d are not: the generator is unbalanced", documents, b.valid, b.notValid)
	}
	t.Logf("%d documents are valid, %d are not", b.valid, b.notValid)
}

// FuzzAgreement compares any JSON.
func FuzzAgreement(f *testing.F) {
	for _, file := range corpusFiles(f) {
		if data, err := os.ReadFile(file); err == nil && len(data) < 4096 {
			f.Add(data)
		}
	}
	b := newComparison(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data)); err == nil {
			b.compare(t, data, value)
		}
	})
}
