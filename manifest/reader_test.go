package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/manifest"
)

// TestParseProblems checks that the problems of the syntax become problems of the manifest.
// Package jsonpos tests all of them.
func TestParseProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text         string
		rule         manifest.Rule
		pointer      string
		line, column int
		offset, end  int
		fixed        bool
		suggestion   string
	}{
		{"{\n  \"a\": 1,\n}", "json-syntax", "", 2, 9, 10, 11, true, "remove the comma"},
		{"[\"\U0001F600\", \"x\xff\"]", "json-encoding", "/1", 1, 9, 11, 12, false, "UTF-8"},
		{`["\ud800"]`, "json-surrogate", "/0", 1, 3, 2, 3, false, "both halves"},
		{"\uFEFF{}", "json-byte-order-mark", "", 1, 1, 0, 1, true, "without BOM"},
		{"{}\r\n\r{}", "json-trailing-data", "", 3, 1, 5, 6, false, "one document"},
		{`{"a/b": [0, {"~": [tru]}]}`, "json-syntax", "/a~1b/1/~0/0", 1, 20, 19, 20, false, ""},
		{"{\"a\": 1,\r\n \"\\u0061\": 2}", "json-duplicate-key", "/a", 2, 2, 11, 12, false, "keep one"},
	} {
		_, err := manifest.Parse([]byte(c.text), nil)
		var p *manifest.Problem
		if !errors.As(err, &p) {
			t.Errorf("%q: error is %v, want a Problem", c.text, err)
			continue
		}
		if p.Rule != c.rule || p.Pointer != c.pointer || p.Line != c.line || p.Column != c.column || p.Offset != c.offset || p.End != c.end || p.Severity != manifest.Error {
			t.Errorf("%q: got %+v, want %s", c.text, p, c.rule)
		}
		if (p.Fix != nil) != c.fixed || !strings.Contains(p.Suggestion, c.suggestion) {
			t.Errorf("%q: got the suggestion %q and fix %v", c.text, p.Suggestion, p.Fix)
		}
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, text string
		opts       *manifest.Options
		want       manifest.Rule // "" if all is well
	}{
		{"size", `{"a":1}`, &manifest.Options{MaxBytes: 7}, ""},
		{"too large", `{"a":1}`, &manifest.Options{MaxBytes: 6}, "limit-size"},
		{"one MiB", "[" + strings.Repeat(" ", 1<<20-2) + "]", nil, ""},
		{"more than one MiB", "[" + strings.Repeat(" ", 1<<20-1) + "]", nil, "limit-size"},
		{"64 levels", deep(64), nil, ""},
		{"65 levels", deep(65), nil, "limit-depth"},
		{"10,000 levels of metadata", `{"_meta":` + deep(9_999) + `}`, nil, ""},
		{"10,001 levels of metadata", `{"_meta":` + deep(10_000) + `}`, nil, "limit-depth"},
		{"65 levels of metadata", `{"_meta":` + deep(64) + `}`, &manifest.Options{MaxMetaDepth: 1}, "limit-depth"},
		{"_meta below another key", `{"x":{"_meta":` + deep(63) + `}}`, nil, "limit-depth"},
		{"values", `[1,2]`, &manifest.Options{MaxValues: 3}, ""},
		{"too many values", `[1,2,3]`, &manifest.Options{MaxValues: 3}, "limit-values"},
		{"beyond the largest depth", deep(20_000), &manifest.Options{MaxDepth: 1 << 30}, "limit-depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse([]byte(c.text), c.opts)
			var p *manifest.Problem
			if got := errors.As(err, &p); got != (c.want != "") || got && p.Rule != c.want {
				t.Errorf("got %v, want rule %q", err, c.want)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	d, err := manifest.Parse([]byte("{\"a\": [null, \"x\"],\n\"b\": {}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := d.Lookup("/b")
	if line, column := d.Position(b.Start); line != 2 || column != 6 || b.Kind != manifest.KindObject || d.Root().Get("b") != b {
		t.Errorf("b is %v at %d:%d, want an object at 2:6", b.Kind, line, column)
	}
	if d.Lookup("/a/2") != nil {
		t.Error("a value is found that does not exist")
	}
}

// FuzzParse checks that validation accepts any text, reports positions of it, and that a
// valid document can be read and written.
func FuzzParse(f *testing.F) {
	for _, c := range readCorpus(f, corpora()[0]) {
		if len(c.data) < 4096 {
			f.Add(c.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := &manifest.Options{MaxBytes: 1 << 30, MaxDepth: 10_000, MaxMetaDepth: 10_000, MaxValues: 1 << 30}
		d, err := manifest.Parse(data, opts)
		if !json.Valid(data) && err == nil {
			t.Fatalf("%q is not JSON and has no error", data)
		}
		for p := manifest.Neutral; p <= manifest.Declared; p++ {
			opts.Profile = p
			checkReport(t, data, d.Validate(opts))
		}
		if manifest.Validate(data, nil).Valid() {
			roundTrip(t, data)
		}
	})
}

// plain decodes a document with encoding/json.
func plain(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// checkReport checks the properties of every report.
func checkReport(t *testing.T, data []byte, r *manifest.Report) {
	t.Helper()
	if len(r.Problems) > 100 || r.Omitted() < 0 || r.Valid() != (r.Err() == nil) {
		t.Fatalf("%d problems of %d errors and %d warnings", len(r.Problems), r.Errors, r.Warnings)
	}
	last := 0
	for i := range r.Problems {
		p := &r.Problems[i]
		if p.Offset < last || p.End < p.Offset || p.End > len(data) || p.Line < 1 || p.Column < 1 {
			t.Fatalf("%+v is not within the %d bytes, or not in order", p, len(data))
		}
		last = p.Offset
		if s := p.Error(); strings.ContainsAny(s, "\n\r\x00") || !utf8.ValidString(s) {
			t.Fatalf("%q is not a line of text", s)
		}
	}
}
