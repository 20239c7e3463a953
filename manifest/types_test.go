package manifest_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/manifest"
)

// TestRoundTrip checks that a valid document that is read and written has the same keys and
// values, including unknown keys and the literals of numbers.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range corpus(t) {
		if c.valid {
			t.Run(c.file, func(t *testing.T) {
				t.Parallel()
				roundTrip(t, c.data)
			})
		}
	}
}

func roundTrip(t *testing.T, data []byte) {
	t.Helper()
	d, err := manifest.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Server()
	if err != nil {
		t.Fatal(err)
	}
	written, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Parse(written, &manifest.Options{MaxBytes: 1 << 30}); err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	if got, want := plain(t, written), plain(t, data); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// everything is a document with every key of every shape, and an unknown key in each.
const everything = `{"$schema":"https://example.com/s","name":"com.example/a","title":"A","description":"\u0000\n\"\\é😀","version":"",
"websiteUrl":"https://example.com","icons":[{"src":"https://example.com/i","mimeType":"image/png","sizes":["any"],"theme":"dark","x":1e400},{"src":"https://e.com","sizes":[]}],
"repository":{"url":"https://e.com","source":"s","id":"","subfolder":"a/b","x":[]},
"packages":[{"registryType":"npm","registryBaseUrl":"https://e.com","identifier":"i","version":"1","fileSha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","runtimeHint":"npx",
"transport":{"type":"stdio","url":5,"headers":"x","variables":null},
"runtimeArguments":[{"type":"named","name":"","valueHint":5,"isRepeated":false,"value":"{a}","variables":{"a":{"isRequired":true,"x":{"y":1.0}},"b":{}}}],
"packageArguments":[{"type":"positional","valueHint":"","name":{"no":"name"},"isRepeated":true,"description":"d","format":"number","isSecret":false,"default":"","placeholder":"p","choices":[],"x":0}],
"environmentVariables":[{"name":"N","variables":{},"x":-0}],"Transport":1}],
"remotes":[{"type":"sse","url":"https://e.com","headers":[],"variables":{"v":{"choices":["a"]}},"x":true}],
"_meta":{"z":1,"a":{"deep":[1.50]}},"unknown":{"key":[null]}}`

func TestRoundTripOfEveryKey(t *testing.T) {
	t.Parallel()
	if r := manifest.Validate([]byte(everything), nil); !r.Valid() {
		t.Fatal(r.Problems)
	}
	roundTrip(t, []byte(everything))
}

// TestEncodingJSON reads and writes the types with encoding/json, also each type alone.
func TestEncodingJSON(t *testing.T) {
	t.Parallel()
	var s manifest.Server
	if err := json.Unmarshal([]byte(everything), &s); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again manifest.Server
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("%v: got\n%+v\nwant\n%+v", err, again, s)
	}
	for _, part := range []any{
		&s.Icons[0], s.Repository, &s.Packages[0], &s.Packages[0].Transport, &s.Packages[0].PackageArguments[0],
		&s.Packages[0].EnvironmentVariables[0], &s.Remotes[0], &s.Remotes[0].Variables[0].Input,
	} {
		data, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		copied := reflect.New(reflect.TypeOf(part).Elem())
		if err := json.Unmarshal(data, copied.Interface()); err != nil || !reflect.DeepEqual(copied.Interface(), part) {
			t.Errorf("%v: got\n%+v\nwant\n%+v", err, copied.Interface(), part)
		}
	}
}

func TestServerShapes(t *testing.T) {
	t.Parallel()
	d, err := manifest.Parse([]byte(everything), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Server()
	if err != nil {
		t.Fatal(err)
	}
	p := s.Packages[0]
	named, positional := p.RuntimeArguments[0], p.PackageArguments[0]
	for what, ok := range map[string]bool{
		"absent is nil":                             s.Icons[1].MIMEType == nil && p.EnvironmentVariables[0].Value == nil,
		"empty is not absent":                       s.Icons[1].Sizes != nil && *s.Repository.ID == "" && positional.Choices != nil,
		"false is not absent":                       named.IsRepeated != nil && !*named.IsRepeated && positional.IsRequired == nil,
		"a valueHint of a named one is unknown":     named.ValueHint == nil && named.Extra[0] == manifest.Field{Name: "valueHint", Value: "5"},
		"a name of a positional one is unknown":     positional.Name == "" && positional.Extra[0].Name == "name",
		"a url of stdio is unknown":                 p.Transport.URL == "" && len(p.Transport.Extra) == 3,
		"keys are compared exactly":                 p.Extra[0] == manifest.Field{Name: "Transport", Value: "1"},
		"variables keep their order":                named.Variables[1].Name == "b" && *named.Variables[0].Input.IsRequired,
		"the literal of a number is preserved":      s.Icons[0].Extra[0].Value == "1e400",
		"members of _meta keep their order":         s.Meta[0].Name == "z" && s.Meta[1].Value == `{"deep":[1.50]}`,
		"no variables are not absent variables":     p.EnvironmentVariables[0].Variables != nil && s.Remotes[0].Headers != nil,
		"an unknown key of a variable is preserved": named.Variables[0].Input.Extra[0].Value == `{"y":1.0}`,
		"a positional one with valueHint of \"\"":   positional.ValueHint != nil,
	} {
		if !ok {
			t.Errorf("this does not hold: %s", what)
		}
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string // line, column and pointer of each problem, and key words
	}{
		{`[]`, []string{"1:1: object array"}},
		{`{"name":null,"description":"d","version":"1"}`, []string{"1:9: /name: string null"}},
		{`{"name":"n","version":1}`, []string{`1:1: missing "description"`, "1:23: /version: string number"}},
		{`{"name":"n","description":"d","version":"1","icons":{}}`, []string{"1:53: /icons: array object"}},
		{`{"name":"n","description":"d","version":"1","remotes":[{"type":"sse","url":"u","variables":{"a":1}}]}`, []string{"1:97: /remotes/0/variables/a: object number"}},
		{`{"name":"n","name":"m","description":"d","version":"1"}`, []string{`1:13: /name: duplicate key "name"`}},
		{`{`, []string{"1:2: end"}},
	} {
		d, _ := manifest.Parse([]byte(c.text), nil)
		_, err := d.Server()
		var ps manifest.Problems
		if !errors.As(err, &ps) || len(ps) != len(c.want) {
			t.Errorf("%s: got %v, want %d problems", c.text, err, len(c.want))
			continue
		}
		for i := range ps {
			if got := ps[i].Error(); !errtest.Names(got, c.want[i]) {
				t.Errorf("%s: got %s, want %s", c.text, got, c.want[i])
			}
		}
	}
	many := `{"name":"n","description":"d","version":"1","icons":[` + strings.Repeat("0,", 9999) + `0]}`
	d, _ := manifest.Parse([]byte(many), nil)
	var ps manifest.Problems
	if _, err := d.Server(); !errors.As(err, &ps) || len(ps) != 100 {
		t.Errorf("got %d problems of 10000, want 100", len(ps))
	}
}
