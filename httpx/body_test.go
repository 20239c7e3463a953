package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// record has a field of each kind.
type record struct {
	Title  string         `json:"title"`
	Pages  int16          `json:"pages"`
	Price  float64        `json:"price"`
	Sold   bool           `json:"sold"`
	Author *person        `json:"author"`
	Others []person       `json:"others"`
	Notes  map[string]int `json:"notes"`
	Any    any            `json:"any"`
	Made   time.Time      `json:"made"`
	Data   []byte         `json:"data"`
	Hidden string         `json:"-"`
	inner  string
	Embedded
}

type person struct {
	Name  string  `json:"name"`
	Boss  *person `json:"boss"`
	Given *string `json:"given"`
}

// Embedded brings its fields along.
type Embedded struct {
	Extra  string `json:"extra"`
	Title  string `json:"title"` // hidden by record's own
	Quoted int    `json:"quoted,string"`
}

func TestBodyReads(t *testing.T) {
	t.Parallel()
	const body = ` {"title":"a\"}","pages":7,"price":1e3,"sold":true,"author":{"name":"b","boss":{"boss":null}},
		"others":[{"name":"c"},{}],"notes":{"x":1},"any":[1,{"y":null}],"made":"2026-01-31T12:00:00Z",
		"data":"YWI=","extra":"e","quoted":"5"} `
	got, err := httpx.ReadJSON[record](request("POST", "/", body, "Content-Type", "application/json; charset=UTF-8"))
	if err != nil {
		t.Fatal(err)
	}
	want := record{
		Title: `a"}`, Pages: 7, Price: 1000, Sold: true, Author: &person{Name: "b", Boss: &person{}},
		Others: []person{{Name: "c"}, {}}, Notes: map[string]int{"x": 1}, Any: []any{1.0, map[string]any{"y": nil}},
		Made: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Data: []byte("ab"), Embedded: Embedded{Extra: "e", Quoted: 5},
	}
	if want.inner = ""; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBodyFaults(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[record](&httpx.BodyOptions{MaxDepth: 4})
	for document, message := range map[string]string{
		``:                               "empty JSON",
		" \n":                            "empty JSON",
		`{"title":`:                      "line 1, column 10: end value",
		"{\n\"tiäle\": y}":               "line 2, column 10: 'y' value",
		`{} {}`:                          "trailing line 1, column 4",
		"{\"title\":\"\xff\"}":           "UTF-8 line 1, column 11",
		`[]`:                             "body: object array 1)",
		`null`:                           "body: object null 1)",
		`"x"`:                            "body: object string 1)",
		`{"title":7}`:                    "title: string number 10)",
		`{"title":null}`:                 "title: string null 10)",
		`{"title":["x"]}`:                "title: string array 10)",
		`{"pages":"7"}`:                  "pages: integer string 10)",
		`{"pages":1.5}`:                  "pages: integer 1.5 10)",
		`{"pages":99999}`:                "pages: range 99999 10)",
		`{"price":1e999}`:                "price: range 1e999 10)",
		`{"sold":"true"}`:                "sold: true string 9)",
		`{"author":[]}`:                  "author: object array 11)",
		`{"others":[{},{"name":1}]}`:     "others[1].name: string number 23)",
		`{"notes":{"a":"b"}}`:            "notes.a: integer string 15)",
		`{"author":{"boss":{"name":1}}}`: "author.boss.name: string number 27)",
		`{"title":"a","title":"b"}`:      "title: duplicate 14)",
		`{"title":"a","t\u0069tle":""}`:  "title: duplicate 14)",
		`{"any":{"a":1,"a":2}}`:          "any.a: duplicate 15)",
		`{"Title":"a"}`:                  "Title: unknown title? 2)",
		`{"Hidden":"a"}`:                 "Hidden: unknown title, quoted 2)",
		`{"author":{"x":{"title":1}}}`:   "author.x: unknown name, boss, given 12)",
		`{"any":[[[1]]]}`:                "",
		`{"any":[[[[1]]]]}`:              "any[0][0][0]: deeply 4 11)",
		`{"made":"yesterday"}`:           "made: timestamp 9)",
		`{"made":{"a":1}}`:               "made: timestamp 9)",
		`{"data":"*"}`:                   "data: base64 9)",
		`{"title":1,"pages":"x","b":1}`:  "title: string number 10) 2 more",
		`{"quoted":5}`:                   "invalid ,string int",
	} {
		_, err := body.Decode([]byte(document))
		if message == "" {
			if err != nil {
				t.Errorf("%s: %v, want no error", document, err)
			}
			continue
		}
		e, ok := errors.AsType[*httpx.Error](err)
		if !ok || e.Status != 400 || !errtest.Names(e.Message, message) {
			t.Errorf("%s:\n got %v\nwant %s", document, err, message)
		}
	}
}

// TestBodyFaultsAreBounded checks that a client can't make a response long.
func TestBodyFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var document bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&document, `%q:{%q:1},`, strings.Repeat("x", i), strings.Repeat("y", 500))
	}
	_, err := httpx.NewBody[record](nil).Decode([]byte("{" + strings.TrimSuffix(document.String(), ",") + "}"))
	if e, ok := errors.AsType[*httpx.Error](err); !ok || len(e.Message) > 1000 || len(e.Fields) != 20 {
		t.Errorf("%.1100v, want 20 fields and a short message", err)
	}
}

// TestBodyFaultsOfCustomTypes checks that a value that was not read to its end is not
// judged as a whole: what is wrong with it is said once.
func TestBodyFaultsOfCustomTypes(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[struct {
		Raw json.RawMessage `json:"raw"`
	}](&httpx.BodyOptions{MaxDepth: 3})
	for document, message := range map[string]string{
		`{"raw":{"a":[[1]]}}`:             "raw.a[0]: deeply 3 14)",
		`{"raw":{"a":1,"a":2}, "raw":[]}`: "raw.a: duplicate 15) 1 more",
	} {
		if _, err := body.Decode([]byte(document)); err == nil || !errtest.Names(err.Error(), message) {
			t.Errorf("%s:\n got %v\nwant %s", document, err, message)
		}
	}
}

// TestBodyFaultsEnd checks that what is wrong with the name and the value of one field does
// not count beyond the bound.
func TestBodyFaultsEnd(t *testing.T) {
	t.Parallel()
	document := `{"title":"a","pages":"x"` + strings.Repeat(`,"title":1`, 20) + `}`
	_, err := httpx.NewBody[record](nil).Decode([]byte(document))
	if e, ok := errors.AsType[*httpx.Error](err); !ok || len(e.Fields) != 20 {
		t.Errorf("%v, want 20 fields", err)
	}
}

func TestBodyType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, encoding string
		ok             bool
	}{
		{"application/json", "", true},
		{"Application/JSON; charset=utf-8", "identity", true},
		{"application/merge-patch+json", "", true},
		{"", "", false},
		{"text/plain", "", false},
		{"application/x-www-form-urlencoded", "", false},
		{"application/json; charset=latin1", "", false},
		{"application/json", "gzip", false},
		{"/;", "", false},
	} {
		r := request("POST", "/", `{}`, "Content-Type", tc.kind, "Content-Encoding", tc.encoding)
		_, err := httpx.ReadJSON[record](r)
		if (err == nil) != tc.ok {
			t.Errorf("%q, %q: %v", tc.kind, tc.encoding, err)
		}
		if err != nil {
			errorOf(t, serve(failing(err), r), 415)
		}
	}
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[record](&httpx.BodyOptions{MaxBytes: 20})
	status := func(document string, announced int64) int {
		r := request("POST", "/", document, "Content-Type", "application/json")
		r.ContentLength = announced
		_, err := body.Read(r)
		if e, ok := errors.AsType[*httpx.Error](err); ok {
			return e.Status
		}
		return 200
	}
	fits, tooLong := `{"title":"12345678"}`, `{"title":"123456789"}`
	for _, announced := range []int64{-1, 20} {
		if got := status(fits, announced); got != 200 {
			t.Errorf("20 bytes: %d", got)
		}
	}
	for _, announced := range []int64{-1, 5, 21} {
		if got := status(tooLong, announced); got != 413 {
			t.Errorf("21 bytes: %d, want 413", got)
		}
	}
	body = httpx.NewBody[record](&httpx.BodyOptions{MaxBytes: math.MaxInt64})
	if got := status(tooLong, -1); got != 200 {
		t.Errorf("without a bound: %d, want 200", got)
	}
}

func TestBodyBroken(t *testing.T) {
	t.Parallel()
	r := request("POST", "/", "x", "Content-Type", "application/json")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), cutOff{}))
	_, err := httpx.ReadJSON[record](r)
	errorOf(t, serve(failing(err), r), 400)
	r = request("POST", "/", `{"title":"too long"}`, "Content-Type", "application/json")
	r.Body = http.MaxBytesReader(nil, r.Body, 3)
	_, err = httpx.ReadJSON[record](r)
	errorOf(t, serve(failing(err), r), 413)
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestNewBodyPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a channel can be read from JSON")
		}
	}()
	httpx.NewBody[struct{ C chan int }](nil)
}

// FuzzBody checks that what is accepted is what encoding/json accepts, that it accepts
// nothing that a strict encoding/json does not, and that every refusal is a 400.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"title":"a","pages":7,"author":{"boss":{"given":null}},"others":[{}],"any":[1,{"x":[]}]}`))
	f.Add([]byte(`{"made":"2026-01-31T12:00:00Z","data":"YWI=","quoted":"5","notes":{"a":1e1}}`))
	f.Add([]byte("[{\"\\\"\\\\\":-1.5e+3}, tru"))
	body := httpx.NewBody[record](nil)
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := body.Decode(document)
		strict := json.NewDecoder(bytes.NewReader(document))
		strict.DisallowUnknownFields()
		var want record
		wantErr := strict.Decode(&want)
		if err == nil {
			if wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("accepted as %+v; encoding/json says %+v, %v", got, want, wantErr)
			}
			return
		}
		e, ok := errors.AsType[*httpx.Error](err)
		if !ok || e.Status != 400 || len(e.Message) > 2000 {
			t.Errorf("refused with %#v", err)
		}
	})
}

func BenchmarkBody(b *testing.B) {
	document := []byte(`{"title":"a","pages":7,"author":{"name":"b"},"others":[{"name":"c"}],"notes":{"x":1}}`)
	body := httpx.NewBody[record](nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := body.Decode(document); err != nil {
			b.Fatal(err)
		}
	}
}

// TestUnpairedSurrogates checks that half of a character is refused, in keys and values: programs
// differ in what they make of it.
func TestUnpairedSurrogates(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[map[string]any](nil)
	for _, document := range []string{`{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"\ud800":1}`, `{"a":["x\ud83dx"]}`, `{"a":"\ud800\u0041"}`} {
		_, err := body.Decode([]byte(document))
		if e, ok := errors.AsType[*httpx.Error](err); !ok || e.Status != 400 || !strings.Contains(e.Message, "surrogate pair") {
			t.Errorf("%s: %v, want 400", document, err)
		}
	}
	if v, err := body.Decode([]byte(`{"a":"\ud83d\ude00"}`)); err != nil || v["a"] != "\U0001f600" {
		t.Errorf("a pair: %q, %v", v, err)
	}
}

func TestBodyValues(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[[]int](&httpx.BodyOptions{MaxValues: 3})
	if _, err := body.Decode([]byte(`[1,2]`)); err != nil {
		t.Error(err)
	}
	_, err := body.Decode([]byte(`[1,2,3]`))
	if e, ok := errors.AsType[*httpx.Error](err); !ok || e.Status != 400 || !strings.Contains(e.Message, "send at most 3") {
		t.Errorf("%v, want 400 that names the limit", err)
	}
}

// span is a body with a rule of its own.
type span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (s *span) Validate() (invalid []httpx.FieldError) {
	if s.To < s.From {
		invalid = append(invalid, httpx.FieldError{Field: "to", Reason: "must not be below from"})
	}
	if s.From < 0 {
		invalid = append(invalid, httpx.FieldError{Field: "from", Reason: "must not be negative"})
	}
	return invalid
}

func TestBodyValidates(t *testing.T) {
	t.Parallel()
	body := httpx.NewBody[span](nil)
	for document, want := range map[string]string{
		`{"from":1,"to":2}`: "", `{"from":2,"to":1}`: "to", `{"from":-1,"to":-2}`: "to from", `{"from":2,"to":"x"}`: "to",
	} {
		_, err := body.Decode([]byte(document))
		e, _ := errors.AsType[*httpx.Error](err)
		var fields []string
		if e != nil {
			for _, f := range e.Fields {
				fields = append(fields, f.Field)
			}
		}
		if got := strings.Join(fields, " "); got != want || e != nil && e.Status != http.StatusBadRequest {
			t.Errorf("%s: the invalid fields are %q, want %q: %v", document, got, want, err)
		}
	}
}
