package jsonpos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text   string
		code         jsonpos.Code
		line, column int
		offset       int
		want         string // in the message or the suggestion
	}{
		{"empty", " \n ", jsonpos.Syntax, 2, 2, 3, "empty"},
		{"trailing comma", "{\n  \"a\": 1,\n}", jsonpos.Syntax, 2, 9, 10, "remove the comma"},
		{"comma missing", `["a" "b"]`, jsonpos.Syntax, 1, 6, 5, "is a comma missing"},
		{"line comment", "{} // x", jsonpos.TrailingData, 1, 4, 3, "unexpected data"},
		{"block comment", "{/* x */}", jsonpos.Syntax, 1, 2, 1, "no comments"},
		{"single quotes", "{'a': 1}", jsonpos.Syntax, 1, 2, 1, "double quotes"},
		{"key without quotes", "{a: 1}", jsonpos.Syntax, 1, 2, 1, "a key in double quotes"},
		{"colon missing", `{"a" 1}`, jsonpos.Syntax, 1, 6, 5, "':' after the key"},
		{"not a number", "[NaN]", jsonpos.Syntax, 1, 2, 1, "JSON has no NaN"},
		{"leading zero", "[-01]", jsonpos.Syntax, 1, 2, 1, "leading zero"},
		{"hexadecimal", "[0x10]", jsonpos.Syntax, 1, 3, 2, "hexadecimal"},
		{"no fraction", "[1.]", jsonpos.Syntax, 1, 4, 3, "a digit after the decimal point"},
		{"no exponent", "[1e+]", jsonpos.Syntax, 1, 5, 4, "a digit of the exponent"},
		{"only a sign", "[-]", jsonpos.Syntax, 1, 3, 2, "a digit"},
		{"capital literal", "[True]", jsonpos.Syntax, 1, 2, 1, "write true"},
		{"no end", `{"a": [1`, jsonpos.Syntax, 1, 9, 8, "unexpected end"},
		{"string without end", "[\"é\", \"abc", jsonpos.Syntax, 1, 7, 7, "unterminated"},
		{"tab in a string", "[\"a\tb\"]", jsonpos.Syntax, 1, 4, 3, `write \t`},
		{"bell in a string", "[\"\a\"]", jsonpos.Syntax, 1, 3, 2, `write \u0007`},
		{"unknown escape", `["\q"]`, jsonpos.Syntax, 1, 3, 2, "invalid escape"},
		{"short escape", `["\u12"]`, jsonpos.Syntax, 1, 3, 2, "four hexadecimal digits"},
		{"signed escape", `["\u+123"]`, jsonpos.Syntax, 1, 3, 2, "four hexadecimal digits"},
		{"invalid UTF-8", "[\"\U0001F600\", \"x\xff\"]", jsonpos.Encoding, 1, 9, 11, "0xFF"},
		{"high surrogate", `["😀 \ud800"]`, jsonpos.Surrogate, 1, 5, 7, `\ud800`},
		{"low surrogate", `["\uDC00"]`, jsonpos.Surrogate, 1, 3, 2, `\udc00`},
		{"surrogates out of order", `["\ud800\ud800"]`, jsonpos.Surrogate, 1, 3, 2, "other half"},
		{"byte order mark", "\uFEFF{}", jsonpos.ByteOrderMark, 1, 1, 0, "without BOM"},
		{"byte order mark first", "\uFEFF\n[", jsonpos.ByteOrderMark, 1, 1, 0, "byte order mark"},
		{"data after the end", "{}\r\n\r{}", jsonpos.TrailingData, 3, 1, 5, "one document"},
		{"duplicate key", "{\"a\": 1,\r\n \"\\u0061\": 2}", jsonpos.DuplicateKey, 2, 2, 11, `duplicate key "a"`},
		{"duplicate key in a large object", largeObject(), jsonpos.DuplicateKey, 1, 192, 191, `duplicate key "k7"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc := jsonpos.Parse([]byte(c.text), nil)
			if doc.Count == 0 {
				t.Fatal("no problem")
			}
			p := doc.Problems[0]
			line, column := jsonpos.Position(doc.Text, p.Offset)
			if p.Code != c.code || line != c.line || column != c.column || p.Offset != c.offset {
				t.Errorf("got %s at %d:%d, offset %d; want %s at %d:%d, offset %d", p.Code, line, column, p.Offset, c.code, c.line, c.column, c.offset)
			}
			if text := p.Message + " " + p.Suggestion; !strings.Contains(text, c.want) {
				t.Errorf("%q does not contain %q", text, c.want)
			}
			if ends := c.code == jsonpos.Syntax; ends != (doc.Root == nil) && len(doc.Problems) == 1 {
				t.Errorf("the tree is %v", doc.Root)
			}
		})
	}
}

// largeObject has more members than are compared one by one, and a duplicate key.
func largeObject() string {
	var b strings.Builder
	b.WriteString("{")
	for i := range 25 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return b.String() + `"k7":1}`
}

func TestPointers(t *testing.T) {
	t.Parallel()
	doc := jsonpos.Parse([]byte(`{"a/b": [0, {"~": [tru]}]}`), nil)
	if got := doc.Problems[0].Pointer; got != "/a~1b/1/~0/0" {
		t.Errorf("got %s", got)
	}
	doc = jsonpos.Parse([]byte(`{"a/b": [0, {"~": [true]}], "é": {}}`), nil)
	for pointer, want := range map[string]string{
		"": "an object", "/a~1b/1/~0/0": "a boolean", "/a~1b/0": "a number", "/é": "an object",
		"/a~1b/01": "", "/a~1b/2": "", "/a~1b/-1": "", "/a/b": "", "a": "", "/é/x/y": "",
	} {
		got := ""
		if n := doc.Root.Lookup(pointer); n != nil {
			got = n.Kind.String()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", pointer, got, want)
		}
	}
}

// TestLongPointers checks that a pointer is not cut inside a code point.
func TestLongPointers(t *testing.T) {
	t.Parallel()
	for extra := range 4 {
		key := strings.Repeat("x", extra) + strings.Repeat("😀", 1000)
		doc := jsonpos.Parse([]byte(`{"`+key+`": x}`), nil)
		got := doc.Problems[0].Pointer
		if len(got) > 2003 || len(got) < 1997 || !utf8.ValidString(got) || !strings.HasSuffix(got, "😀...") {
			t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-8:])
		}
	}
	if got := jsonpos.Quote(strings.Repeat("é", 61)); got != `"`+strings.Repeat("é", 60)+`"...` {
		t.Errorf("got %s", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, text string
		limits     *jsonpos.Limits
		want       jsonpos.Code // "" for none
	}{
		{"size", `{"a":1}`, &jsonpos.Limits{Bytes: 7}, ""},
		{"too large", `{"a":1}`, &jsonpos.Limits{Bytes: 6}, jsonpos.TooLarge},
		{"depth", deep(64), &jsonpos.Limits{Depth: 64}, ""},
		{"too deep", deep(65), &jsonpos.Limits{Depth: 64}, jsonpos.TooDeep},
		{"deeper below a key", `{"m":` + deep(9) + `}`, &jsonpos.Limits{Depth: 2, Key: "m", KeyDepth: 10}, ""},
		{"too deep below a key", `{"m":` + deep(10) + `}`, &jsonpos.Limits{Depth: 2, Key: "m", KeyDepth: 10}, jsonpos.TooDeep},
		{"after the key", `{"m":` + deep(9) + `,"x":` + deep(2) + `}`, &jsonpos.Limits{Depth: 2, Key: "m", KeyDepth: 10}, jsonpos.TooDeep},
		{"the same key elsewhere", `{"x":{"m":[]}}`, &jsonpos.Limits{Depth: 2, Key: "m", KeyDepth: 10}, jsonpos.TooDeep},
		{"the default depth", deep(10_000), nil, ""},
		{"beyond the largest depth", deep(10_001), &jsonpos.Limits{Depth: math.MaxInt}, jsonpos.TooDeep},
		{"values", `[1,2]`, &jsonpos.Limits{Values: 3}, ""},
		{"too many values", `[1,2,3]`, &jsonpos.Limits{Values: 3}, jsonpos.TooMany},
	} {
		doc := jsonpos.Parse([]byte(c.text), c.limits)
		if got := doc.Count > 0; got != (c.want != "") || got && (doc.Problems[0].Code != c.want || doc.Root != nil) {
			t.Errorf("%s: got %v, want %q", c.name, doc.Problems, c.want)
		}
	}
	doc := jsonpos.Parse([]byte(`{"a":0,`+strings.Repeat(`"a":0,`, 9)+`"a":0}`), &jsonpos.Limits{Problems: 3})
	if len(doc.Problems) != 3 || doc.Count != 10 || doc.Root == nil {
		t.Errorf("%d of %d problems are listed, want 3 of 10", len(doc.Problems), doc.Count)
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	text := "{\"a\": [null, true, -1.50e3, \"x\\ty\"],\n\"b\": {}}"
	doc := jsonpos.Parse([]byte(text), nil)
	var got []string
	for _, n := range doc.Root.Get("a").Elements {
		got = append(got, fmt.Sprintf("%v %q %s", n.Kind, n.Text, text[n.Start:n.End]))
	}
	want := []string{`null "null" null`, `a boolean "true" true`, `a number "-1.50e3" -1.50e3`, `a string "x\ty" "x\ty"`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b := doc.Root.Get("b")
	if line, column := jsonpos.Position(text, b.Start); line != 2 || column != 6 || b.Kind != jsonpos.Object {
		t.Errorf("b is %v at %d:%d, want an object at 2:6", b.Kind, line, column)
	}
	if m := doc.Root.Members[1]; text[m.KeyStart:m.KeyEnd] != `"b"` {
		t.Errorf("the key is %s", text[m.KeyStart:m.KeyEnd])
	}
	if doc.Root.Get("c") != nil || b.Elements != nil || (*jsonpos.Node)(nil).Get("a") != nil {
		t.Error("a value is found that does not exist")
	}
}

func TestAppendValue(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "\x00\x1f\"\\/\b\f\n\r\t\x7f", "é😀\u2028<>&", "\xff"} {
		var got string
		if err := json.Unmarshal(jsonpos.AppendValue(nil, s), &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q: got %q, %v", s, got, err)
		}
	}
}

// FuzzParse compares with encoding/json: both accept the same texts but for what this
// package is stricter about, and read the same values. All positions are in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+1,"x\u00e9\ud83d\ude00",true,null],"a":{}}`, "\uFEFF[]", `["\ud800","\xff"] `, "[1,]", `{"a":"\n"}x`, largeObject()} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc := jsonpos.Parse(data, nil)
		valid := json.Valid(data)
		for _, p := range doc.Problems {
			stricter := p.Code == jsonpos.DuplicateKey || p.Code == jsonpos.Encoding || p.Code == jsonpos.Surrogate
			if valid && !stricter {
				t.Fatalf("%q is JSON: %+v", data, p)
			}
			if p.Offset < 0 || p.End < p.Offset || p.End > len(data) || strings.ContainsAny(p.Message, "\r\n") || !utf8.ValidString(p.Message+p.Pointer) {
				t.Fatalf("%q: %+v", data, p)
			}
		}
		if !valid && doc.Count == 0 {
			t.Fatalf("%q is not JSON and has no problem", data)
		}
		if !valid || doc.Count > 0 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(doc.Root); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", data, got, want)
		}
		tokens, err := fromTokens(data)
		if err != nil || !samePositions(doc.Root, tokens) {
			t.Fatalf("%q: %v: the offsets differ from those of json.Decoder", data, err)
		}
	})
}

// plain returns what encoding/json decodes a value to.
func plain(n *jsonpos.Node) any {
	switch n.Kind {
	case jsonpos.Boolean:
		return n.Text == "true"
	case jsonpos.Number:
		return json.Number(n.Text)
	case jsonpos.String:
		return n.Text
	case jsonpos.Array:
		l := make([]any, len(n.Elements))
		for i := range n.Elements {
			l[i] = plain(&n.Elements[i])
		}
		return l
	case jsonpos.Object:
		m := make(map[string]any)
		for i := range n.Members {
			m[n.Members[i].Key] = plain(&n.Members[i].Value)
		}
		return m
	}
	return nil
}

// fromTokens builds the tree with json.Decoder. It is the alternative that the design
// notes compare with.
func fromTokens(data []byte) (*jsonpos.Node, error) {
	r := tokenReader{json.NewDecoder(bytes.NewReader(data)), data}
	r.UseNumber()
	root := new(jsonpos.Node)
	if err := r.value(root); err != nil {
		return nil, err
	}
	if _, err := r.Token(); err != io.EOF {
		return nil, fmt.Errorf("data after the end: %v", err)
	}
	return root, nil
}

type tokenReader struct {
	*json.Decoder
	data []byte
}

// next returns the next token with its offset, before which InputOffset is still at the end
// of the token before.
func (r tokenReader) next() (json.Token, int, error) {
	start := int(r.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	t, err := r.Token()
	return t, start, err
}

func (r tokenReader) value(n *jsonpos.Node) error {
	t, start, err := r.next()
	if err != nil {
		return err
	}
	n.Start = start
	switch t := t.(type) {
	case json.Delim:
		for r.More() {
			if t == '[' {
				n.Elements = append(n.Elements, jsonpos.Node{})
				err = r.value(&n.Elements[len(n.Elements)-1])
			} else {
				err = r.member(n)
			}
			if err != nil {
				return err
			}
		}
		n.Kind = map[json.Delim]jsonpos.Kind{'[': jsonpos.Array, '{': jsonpos.Object}[t]
		_, _, err = r.next()
	case string:
		n.Kind, n.Text = jsonpos.String, t
	case json.Number:
		n.Kind, n.Text = jsonpos.Number, t.String()
	case bool:
		n.Kind, n.Text = jsonpos.Boolean, fmt.Sprint(t)
	default:
		n.Text = "null"
	}
	n.End = int(r.InputOffset())
	return err
}

func (r tokenReader) member(n *jsonpos.Node) error {
	key, start, err := r.next()
	if err != nil {
		return err
	}
	n.Members = append(n.Members, jsonpos.Member{Key: key.(string), KeyStart: start, KeyEnd: int(r.InputOffset())})
	return r.value(&n.Members[len(n.Members)-1].Value)
}

func samePositions(a, b *jsonpos.Node) bool {
	same := a.Kind == b.Kind && a.Start == b.Start && a.End == b.End && a.Text == b.Text && len(a.Elements) == len(b.Elements) && len(a.Members) == len(b.Members)
	for i := range a.Elements {
		same = same && samePositions(&a.Elements[i], &b.Elements[i])
	}
	for i := range a.Members {
		x, y := &a.Members[i], &b.Members[i]
		same = same && x.Key == y.Key && x.KeyStart == y.KeyStart && x.KeyEnd == y.KeyEnd && samePositions(&x.Value, &y.Value)
	}
	return same
}

// sample is a document of about 2 KiB with the usual mix of values.
func sample() []byte {
	one := `{"name": "com.example/weather", "description": "Tells the weather of today", "isRequired": true, "count": 12.5, "choices": ["metric", "imperial"], "nested": {"value": null, "text": "a\nb"}}`
	return []byte("[\n  " + strings.Repeat(one+",\n  ", 11) + one + "\n]")
}

func BenchmarkParse(b *testing.B) {
	data := sample()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if doc := jsonpos.Parse(data, nil); doc.Count > 0 {
			b.Fatal(doc.Problems)
		}
	}
}

func BenchmarkDecoderTokens(b *testing.B) {
	data := sample()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fromTokens(data); err != nil {
			b.Fatal(err)
		}
	}
}
