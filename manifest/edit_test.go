package manifest_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

func parsed(t testing.TB, text string) *manifest.Document {
	t.Helper()
	d, err := manifest.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSet checks the bytes of the result: only the value changes, in the style of the document.
func TestSet(t *testing.T) {
	t.Parallel()
	const lines = "{\r\n\t\"a\" :  1,\r\n\t\"b\": [\r\n\t\t{\"x\": 1, \"y\": 2}\r\n\t],\r\n\t\"c\": {}\r\n}\r\n"
	transport := manifest.Transport{Type: manifest.SSE, URL: "https://e.com/<a>"}
	for _, c := range []struct {
		text, pointer string
		value         any
		want          string
	}{
		{lines, "/a", "2", strings.Replace(lines, "1", `"2"`, 1)},
		{lines, "/b/0/y", nil, strings.Replace(lines, "2", "null", 1)},
		{lines, "/b/0/z", true, strings.Replace(lines, "2}", `2, "z": true}`, 1)},
		{lines, "/b/0", transport, strings.Replace(lines, `{"x": 1, "y": 2}`, `{"type": "sse", "url": "https://e.com/<a>"}`, 1)},
		{lines, "/b/1", []int{1}, strings.Replace(lines, "2}", "2},\r\n\t\t[\r\n\t\t\t1\r\n\t\t]", 1)},
		{lines, "/b/-", 3, strings.Replace(lines, "2}", "2},\r\n\t\t3", 1)},
		{lines, "/c/k~1~0", 3, strings.Replace(lines, "{}", "{\r\n\t\t\"k/~\":  3\r\n\t}", 1)},
		{lines, "/d", []string{}, strings.Replace(lines, "{}", "{},\r\n\t\"d\": []", 1)},
		{lines, "/a", transport, strings.Replace(lines, "1", "{\r\n\t\t\"type\": \"sse\",\r\n\t\t\"url\": \"https://e.com/<a>\"\r\n\t}", 1)},
		{`{"a":1}`, "/b", []int{1, 2}, `{"a":1,"b":[1,2]}`},
		{`{ "a": 1 }`, "/b", "c,d:e", `{ "a": 1, "b": "c,d:e" }`},
		{`{"a": 1, "b": [ ]}`, "/b/-", object{"x": "\\"}, `{"a": 1, "b": [{"x": "\\"}]}`},
		{`{"a":[1]}`, "/a/0", manifest.Raw(" 1e400 "), `{"a":[1e400]}`},
		{`{}`, "/a", 1, `{"a": 1}`},
		{` [1] `, "", object{}, ` {} `},
	} {
		d, err := parsed(t, c.text).Set(c.pointer, c.value)
		if err != nil {
			t.Errorf("%s in %s: %v", c.pointer, c.text, err)
		} else if d.Text() != strings.Replace(c.want, `"k/~":  3`, `"k/~" :  3`, 1) {
			t.Errorf("%s in %s: got\n%q, want\n%q", c.pointer, c.text, d.Text(), c.want)
		}
	}
}

func TestSetErrors(t *testing.T) {
	t.Parallel()
	d := parsed(t, `{"a": {"b": [1]}, "c": "x"}`)
	before := d.Text()
	for pointer, want := range map[string]string{
		"a":       "JSON pointer",
		"/x/y":    `"/x"`,
		"/a/b/3":  `"3"`,
		"/a/b/01": "is not an index",
		"/c/d":    `"/c" is a string`,
		"/\xff":   "JSON pointer",
	} {
		if _, err := d.Set(pointer, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", pointer, err, want)
		}
	}
	if _, err := d.Set("/c", manifest.Raw("{")); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a value that is not JSON: %v", err)
	}
	if _, err := d.Set("/c", func() {}); err == nil {
		t.Error("a function is a value")
	}
	if _, err := d.Set("/c", strings.Repeat("x", 1<<20)); err == nil || !strings.Contains(err.Error(), "at most 1048576") {
		t.Errorf("a document beyond the limit: %v", err)
	}
	broken, _ := manifest.Parse([]byte(`{"a": 1,}`), nil)
	if _, err := broken.Set("/a", 1); err == nil || !strings.Contains(err.Error(), "trailing comma") {
		t.Errorf("a document that is not JSON: %v", err)
	}
	if d.Text() != before {
		t.Errorf("the document itself was changed: %s", d.Text())
	}
}

// TestFixLoops checks that fixes uncover other problems, which are fixed too, and that a part of
// the problems is fixed alone.
func TestFixLoops(t *testing.T) {
	t.Parallel()
	const text = `{"nmae": "a/b", "description": "d", "version": "^1.0", "title": "", "repository": {}, "packages": [` +
		`{"registryType": "NPM", "identifier": "i", "runtimeArguments": [{"value": "-y"}], "runtimeHint": null,},],}`
	const want = `{"name": "a/b", "description": "d", "version": "1.0", "packages": [` +
		`{"registryType": "npm", "identifier": "i", "runtimeArguments": [{"type": "positional", "value": "-y"}], "transport": {"type": "stdio"}}]}`
	fixed, done, left := manifest.Fix([]byte(text), nil)
	if string(fixed) != want || !left.Valid() || len(done) != 11 {
		t.Errorf("%d fixes became\n%s\nwant\n%s\n%v", len(done), fixed, want, left.Problems)
	}
	r := manifest.Validate([]byte(text), nil)
	if fixed, n := r.Problems.Fix([]byte(text)); string(fixed) != want || n != len(done) {
		t.Errorf("%d fixes of the problems became\n%s", n, fixed)
	}
	_, err := manifest.Parse([]byte(text), nil)
	if fixed, n := err.(manifest.Problems).Fix([]byte(text)); !json.Valid(fixed) || n != 3 || !strings.Contains(string(fixed), "nmae") {
		t.Errorf("%d fixes of the syntax became\n%s", n, fixed)
	}
	const other = `{"nmae": "a/b", "description": "d", "version": "^1.0"}`
	r = manifest.Validate([]byte(other), nil)
	if fixed, n := r.Problems[1:].Fix([]byte(other)); n != 1 || string(fixed) != strings.Replace(other, "^", "", 1) {
		t.Errorf("%d fixes of one problem became\n%s", n, fixed)
	}
	if got := r.Problems.Below("/version"); len(got) != 1 || len(r.Problems.Below("/vers")) != 0 || len(r.Problems.Below("")) != 2 {
		t.Errorf("below /version: %v", got)
	}
}

// FuzzSet checks that Set changes nothing but the value, and that the result has it.
func FuzzSet(f *testing.F) {
	f.Add("{\n \"a\": [1, {}],\n \"b\": {\"c\": null}\n}", "/a/1/x", `{"y":[1,"\\\""]}`)
	f.Add(`{"a":[]}`, "/a/-", `"é"`)
	f.Add("{\"a\":{\r\n}}", "/a/b~1", `[]`)
	f.Add(" [0]\t", "", `{"a":{}}`)
	f.Fuzz(func(t *testing.T, text, pointer, value string) {
		d, err := manifest.Parse([]byte(text), nil)
		v, verr := manifest.Parse([]byte(value), nil)
		if err != nil || verr != nil {
			return
		}
		changed, err := d.Set(pointer, manifest.Raw(value))
		if err != nil {
			return
		}
		after := changed.Text()
		if !json.Valid([]byte(after)) {
			t.Fatalf("%q became %q", text, after)
		}
		if old := d.Lookup(pointer); old != nil {
			if !strings.HasPrefix(after, text[:old.Start]) || !strings.HasSuffix(after, text[old.End:]) {
				t.Fatalf("%q became %q, which has other bytes outside of the value", text, after)
			}
		} else if isContainer := strings.HasSuffix(pointer, "/-"); !isContainer && d.Lookup(pointer[:strings.LastIndexByte(pointer, '/')]) == nil {
			t.Fatalf("%q became %q without a parent", text, after)
		} else {
			outside(t, text, after)
		}
		if i := strings.LastIndexByte(pointer, '/'); strings.HasSuffix(pointer, "/-") && d.Lookup(pointer[:i]).Kind == manifest.KindArray {
			return
		}
		if got := changed.Lookup(pointer); got == nil || !reflect.DeepEqual(plain(t, []byte(after[got.Start:got.End])), plain(t, []byte(v.Text()))) {
			t.Fatalf("%q at %s became %q", text, pointer, after)
		}
	})
}

// outside checks that text was only added to, but for the white space of an empty array or
// object.
func outside(t *testing.T, before, after string) {
	t.Helper()
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	if gone := strings.Trim(before[head:len(before)-tail], " \t\r\n"); gone != "" {
		t.Fatalf("%q became %q without %q", before, after, gone)
	}
}

// FuzzFix checks that fixes change nothing but what they name, that the text stays JSON, and that
// they come to an end.
func FuzzFix(f *testing.F) {
	for _, c := range readCorpus(f, corpora()[0]) {
		if len(c.data) < 4096 {
			f.Add(c.data)
		}
	}
	f.Add([]byte(`{"title":""}`))
	f.Add([]byte(`{"packages":[{"version":""},{"runtimeHint":null,"version":""}]}`))
	f.Add([]byte(`{"nmae":"a/b","repository":{},"title":"","packages":[{"registry_type":"NPM","runtimeArguments":[{"value":"-y"}],},],}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for p := manifest.Neutral; p <= manifest.Declared; p++ {
			opts := &manifest.Options{Profile: p}
			r := manifest.Validate(data, opts)
			once := r.Problems[:max(0, len(r.Problems)-1)]
			fixed, _ := once.Fix(data)
			at := 0 // each byte is kept, or is in the range of a fix
			rest := string(fixed)
			for i := range data {
				if covered(once, i) {
					continue
				}
				next := strings.IndexByte(rest[at:], data[i])
				if next < 0 {
					t.Fatalf("%v: %q became %q without the byte at %d", p, data, fixed, i)
				}
				at += next + 1
			}
			all, done, left := manifest.Fix(data, opts)
			if json.Valid(data) && !json.Valid(all) {
				t.Fatalf("%v: %q became %q", p, data, all)
			}
			if len(done) == 0 && string(all) != string(data) {
				t.Fatalf("%v: %q became %q without a fix", p, data, all)
			}
			if left.Errors > r.Errors && json.Valid(data) && len(done) > 0 && left.Errors > r.Errors+len(done)*8 {
				t.Fatalf("%v: %q has %d errors and %q has %d", p, data, r.Errors, all, left.Errors)
			}
		}
	})
}

// covered reports whether a fix replaces the byte at an offset.
func covered(ps manifest.Problems, offset int) bool {
	for i := range ps {
		if e := ps[i].Fix; e != nil && e.Offset <= offset && offset < e.End {
			return true
		}
	}
	return false
}
