package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/manifest"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text   string
		rule         manifest.Rule
		line, column int
		offset       int
		says         string
	}{
		{"empty", " \n ", manifest.RuleSyntax, 2, 2, 3, "empty"},
		{"trailing comma", "{\n  \"a\": 1,\n}", manifest.RuleSyntax, 2, 9, 10, "remove the comma"},
		{"comma missing", `["a" "b"]`, manifest.RuleSyntax, 1, 6, 5, "is a comma missing"},
		{"line comment", "{} // x", manifest.RuleTrailing, 1, 4, 3, "more text"},
		{"block comment", "{/* x */}", manifest.RuleSyntax, 1, 2, 1, "no comments"},
		{"single quotes", "{'a': 1}", manifest.RuleSyntax, 1, 2, 1, "double quotes"},
		{"key without quotes", "{a: 1}", manifest.RuleSyntax, 1, 2, 1, "a key in double quotes"},
		{"colon missing", `{"a" 1}`, manifest.RuleSyntax, 1, 6, 5, "':' after the key"},
		{"not a number", "[NaN]", manifest.RuleSyntax, 1, 2, 1, "JSON has no NaN"},
		{"leading zero", "[-01]", manifest.RuleSyntax, 1, 2, 1, "begins with a zero"},
		{"hexadecimal", "[0x10]", manifest.RuleSyntax, 1, 3, 2, "hexadecimal"},
		{"no fraction", "[1.]", manifest.RuleSyntax, 1, 4, 3, "a digit after the point"},
		{"no exponent", "[1e+]", manifest.RuleSyntax, 1, 5, 4, "a digit of the exponent"},
		{"only a sign", "[-]", manifest.RuleSyntax, 1, 3, 2, "a digit"},
		{"capital literal", "[True]", manifest.RuleSyntax, 1, 2, 1, "write true"},
		{"no end", `{"a": [1`, manifest.RuleSyntax, 1, 9, 8, "the document ends"},
		{"string without end", "[\"é\", \"abc", manifest.RuleSyntax, 1, 7, 7, "has no end"},
		{"tab in a string", "[\"a\tb\"]", manifest.RuleSyntax, 1, 4, 3, `write \t`},
		{"bell in a string", "[\"\a\"]", manifest.RuleSyntax, 1, 3, 2, `write \u0007`},
		{"unknown escape", `["\q"]`, manifest.RuleSyntax, 1, 3, 2, "no escape sequence"},
		{"short escape", `["\u12"]`, manifest.RuleSyntax, 1, 3, 2, "four hexadecimal digits"},
		{"invalid UTF-8", "[\"\U0001F600\", \"x\xff\"]", manifest.RuleEncoding, 1, 9, 11, "0xFF"},
		{"high surrogate", `["😀 \ud800"]`, manifest.RuleSurrogate, 1, 5, 7, `\ud800`},
		{"low surrogate", `["\uDC00"]`, manifest.RuleSurrogate, 1, 3, 2, `\udc00`},
		{"surrogates out of order", `["\ud800\ud800"]`, manifest.RuleSurrogate, 1, 3, 2, "other half"},
		{"byte order mark", "\uFEFF{}", manifest.RuleByteOrderMark, 1, 1, 0, "without BOM"},
		{"byte order mark first", "\uFEFF\n[", manifest.RuleByteOrderMark, 1, 1, 0, "byte order mark"},
		{"data after the end", "{}\r\n\r{}", manifest.RuleTrailing, 3, 1, 5, "one manifest"},
		{"duplicate key", "{\"a\": 1,\r\n \"\\u0061\": 2}", manifest.RuleDuplicateKey, 2, 2, 11, "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse([]byte(c.text), nil)
			var p *manifest.Problem
			if !errors.As(err, &p) {
				t.Fatalf("error is %v, want a Problem", err)
			}
			if p.Rule != c.rule || p.Line != c.line || p.Column != c.column || p.Offset != c.offset {
				t.Errorf("got %s at %d:%d, offset %d; want %s at %d:%d, offset %d", p.Rule, p.Line, p.Column, p.Offset, c.rule, c.line, c.column, c.offset)
			}
			if !strings.Contains(p.Error(), c.says) {
				t.Errorf("%q does not say %q", p.Error(), c.says)
			}
		})
	}
}

func TestParsePointer(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse([]byte(`{"a/b": [0, {"~": [tru]}]}`), nil)
	var p *manifest.Problem
	if !errors.As(err, &p) || p.Pointer != "/a~1b/1/~0/0" {
		t.Fatalf("got %+v, want a problem at /a~1b/1/~0/0", p)
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
		{"too large", `{"a":1}`, &manifest.Options{MaxBytes: 6}, manifest.RuleSize},
		{"one MiB", "[" + strings.Repeat(" ", 1<<20-2) + "]", nil, ""},
		{"more than one MiB", "[" + strings.Repeat(" ", 1<<20-1) + "]", nil, manifest.RuleSize},
		{"64 levels", deep(64), nil, ""},
		{"65 levels", deep(65), nil, manifest.RuleDepth},
		{"512 levels of metadata", `{"_meta":` + deep(511) + `}`, nil, ""},
		{"513 levels of metadata", `{"_meta":` + deep(512) + `}`, nil, manifest.RuleDepth},
		{"metadata that is no metadata", `{"x":{"_meta":` + deep(63) + `}}`, nil, manifest.RuleDepth},
		{"values", `[1,2]`, &manifest.Options{MaxValues: 3}, ""},
		{"too many values", `[1,2,3]`, &manifest.Options{MaxValues: 3}, manifest.RuleValues},
		{"a stack that is asked for", deep(20_000), &manifest.Options{MaxDepth: 1 << 30}, manifest.RuleDepth},
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

func TestNodesKnowTheirPlace(t *testing.T) {
	t.Parallel()
	text := "{\"a\": [null, true, -1.50e3, \"x\\ty\"],\n\"b\": {}}"
	d, err := manifest.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range d.Root().Get("a").Elements {
		got = append(got, fmt.Sprintf("%v %q %s", n.Kind, n.Text, text[n.Start:n.End]))
	}
	want := []string{`null "null" null`, `a boolean "true" true`, `a number "-1.50e3" -1.50e3`, `a string "x\ty" "x\ty"`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b := d.Root().Get("b")
	if line, column := d.Position(b.Start); line != 2 || column != 6 || b.Kind != manifest.KindObject {
		t.Errorf("b is %v at %d:%d, want an object at 2:6", b.Kind, line, column)
	}
	if d.Root().Get("c") != nil || b.Elements != nil {
		t.Error("there is something that is not in the document")
	}
}

// FuzzParse: what is JSON is what encoding/json says, values are the same, places
// are places of the text, and validation survives whatever was read.
func FuzzParse(f *testing.F) {
	for _, c := range readCorpus(f, corpora()[0]) {
		if len(c.data) < 4096 {
			f.Add(c.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := &manifest.Options{MaxBytes: 1 << 30, MaxDepth: 10_000, MaxMetaDepth: 10_000, MaxValues: 1 << 30}
		d, err := manifest.Parse(data, opts)
		if !json.Valid(data) {
			if err == nil {
				t.Fatalf("%q is not JSON and was read", data)
			}
		} else {
			agrees(t, data, d, err)
		}
		for p := manifest.Neutral; p <= manifest.Registry; p++ {
			opts.Profile = p
			checkReport(t, data, d.Validate(opts))
		}
		if manifest.Validate(data, nil).Valid() {
			roundTrip(t, data)
		}
	})
}

// agrees compares with encoding/json, which takes what is only refused because
// readers disagree on it.
func agrees(t *testing.T, data []byte, d *manifest.Document, err error) {
	t.Helper()
	if err != nil {
		var ps manifest.Problems
		if !errors.As(err, &ps) {
			t.Fatalf("the error is %T", err)
		}
		for _, p := range ps {
			if p.Rule != manifest.RuleDuplicateKey && p.Rule != manifest.RuleEncoding && p.Rule != manifest.RuleSurrogate {
				t.Fatalf("%q is JSON: %v", data, p.Error())
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := plain(d.Root()); err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %#v, want %#v", data, got, want)
	}
}

// plain makes of a node what encoding/json makes of its text.
func plain(n *manifest.Node) any {
	switch n.Kind {
	case manifest.KindBoolean:
		return n.Text == "true"
	case manifest.KindNumber:
		return json.Number(n.Text)
	case manifest.KindString:
		return n.Text
	case manifest.KindArray:
		l := make([]any, len(n.Elements))
		for i := range n.Elements {
			l[i] = plain(&n.Elements[i])
		}
		return l
	case manifest.KindObject:
		m := make(map[string]any)
		for i := range n.Members {
			if !n.Members[i].Shadowed {
				m[n.Members[i].Key] = plain(&n.Members[i].Value)
			}
		}
		return m
	}
	return nil
}

// checkReport holds for any report.
func checkReport(t *testing.T, data []byte, r *manifest.Report) {
	t.Helper()
	if len(r.Problems) > 100 || r.Omitted() < 0 || r.Valid() != (r.Err() == nil) {
		t.Fatalf("%d problems of %d errors and %d warnings", len(r.Problems), r.Errors, r.Warnings)
	}
	last := 0
	for i := range r.Problems {
		p := &r.Problems[i]
		if p.Offset < last || p.End < p.Offset || p.End > len(data) || p.Line < 1 || p.Column < 1 {
			t.Fatalf("%+v is not at a place of the %d bytes, or not in order", p, len(data))
		}
		last = p.Offset
		if s := p.Error(); strings.ContainsAny(s, "\n\r\x00") || !utf8.ValidString(s) {
			t.Fatalf("%q is not a line of text", s)
		}
	}
}
