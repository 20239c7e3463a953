package sanitize_test

import (
	"html"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"
	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
)

func TestClean(t *testing.T) {
	t.Parallel()
	policy := sanitize.New(nil)
	for _, tc := range []struct {
		text  string
		clean bool
		why   string
	}{
		{"", true, "nothing is in it"},
		{"AT&T", true, "an ampersand is text"},
		{"O'Brien", true, "an apostrophe is text"},
		{`Rack "A"`, true, "quotation marks are text"},
		{"1 < 2 > 0", true, "comparisons are text"},
		{"a\r\n1 < 2\rb", true, "line ends are text, whichever they are"},
		{"x &lt;script&gt; y", true, "an escaped tag is shown as text"},
		{"a < b & c &amp; d", true, "entities are text next to a bracket too"},
		{"<3", true, "no tag begins with a digit"},
		{"<script>alert(1)</script>", false, "script"},
		{"<b>bold</b>", false, "markup that does no harm is markup"},
		{"x</p>", false, "an end is half a tag"},
		{"a<!-- b -->c", false, "a comment is markup"},
		{"<img src=x onerror=alert(1)", false, "a browser completes what is open"},
		{"<SvG/onload=alert(1)>", false, "case and slashes do not matter"},
		{"<\x00script>", false, "a NUL does not hide a tag"},
		{"</\x00", false, "a NUL begins a comment where it is not dropped"},

		{"a<b", true, "it compares two variables"},
		{"if rx<tx and a<b, 1<2", true, "comparisons with text behind them"},
		{"<<vPC for OTV>>", true, "vPC is no element, and words are no values"},
		{"to <core-1>", true, "core-1 is no element"},
		{"<Gi1/0/1> <Zürich:2> <хост>", true, "neither are these"},
		{"<vlan>7</vlan>", true, "the end of an unknown element is text too"},
		{"<core-1> a<b", true, "each is text"},
		{"see <b", false, "a tag that what follows may complete"},
		{"a<script", false, "an incomplete tag with the name of an element"},
		{"to <core-1", false, "the same: an attribute of the next text would count"},
		{"a<b onclick=x", false, "an attribute with a value"},
		{"a<b and c>d", false, "that is bold text with the attributes and, c"},
		{"<core-1 onclick=x>", false, "an attribute with a value"},
		{"<core-1 x='y'>", false, "an attribute with a value"},
		{"<core-1 hidden>", false, "an attribute that hides what follows"},
		{"<switch>", false, "an element of SVG"},
		{"<mtext>", false, "an element of MathML"},
		{"<svg:script>", false, "an element in a namespace"},
		{"<a<b>", false, "a parser may take the inner one"},
		{"<core-1><script>", false, "the second is an element"},
		{"<scr\u0131pt>", false, "in upper case it is SCRIPT"},
		{"<s\uff43ript>", false, "the normal form of fullwidth letters is ASCII"},
		{"</core-1 x>", false, "an end has no attributes"},
		{"</>", false, "a parser drops it"},
		{"<!core-1>", false, "a comment"},
		{"<core-1\nx>", false, "a tag of several lines"},
	} {
		if got := policy.Clean(tc.text); got != tc.clean {
			t.Errorf("Clean(%q) = %v, because %s", tc.text, got, tc.why)
		}
	}
}

// echo responses with the body that reached it.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(w, r.Body); err != nil {
		httpx.WriteError(w, r, err)
	}
})

func send(contentType, target, body string, opts *sanitize.Options) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	sanitize.New(opts).Middleware(echo).ServeHTTP(w, r)
	return w
}

func TestMiddlewareRefuses(t *testing.T) {
	t.Parallel()
	const jsonType, form = "application/json", "application/x-www-form-urlencoded"
	multi := "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n<b>x</b>\r\n--b--\r\n"
	file := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"<b>.txt\"\r\n\r\nx\r\n--b--\r\n"
	for _, tc := range []struct{ why, contentType, target, body, names string }{
		{"a value", jsonType, "/", `{"title":"<b>x</b>"}`, "field title "},
		{"a value deep down", jsonType, "/", `{"a":[1,{"b":["ok","<i>x"]}]}`, "a[1].b[1] "},
		{"a value behind others", jsonType, "/", `{"a":{"x":1},"b":[true],"c":"<p>"}`, "field c "},
		{"the name of a field", jsonType, "/", `{"<b>":1}`, "name of a field"},
		{"a tag that is escaped in JSON", jsonType, "/", `{"a":"\u003cscript\u003e"}`, "field a "},
		{"the first of two equal keys", jsonType, "/", `{"a":"<b>","a":"x"}`, "field a "},
		{"what stands before broken JSON", jsonType, "/", `{"a":"<b>"`, "field a "},
		{"a second document", jsonType, "/", `{"a":"b"} {"c":"<b>"}`, "field c "},
		{"JSON that is called text", "text/plain", "/", `{"a":"<b>"}`, "field a "},
		{"JSON that is called nothing", "", "/", ` ["<b>"]`, "[0] "},
		{"JSON that is called a form", form, "/", `{"a":"<b>"}`, "name of a form field"},
		{"JSON that is called a form of parts", "multipart/form-data; boundary=b", "/", `{"a":"<b>"}`, "field a "},
		{"a string alone", jsonType, "/", `"<b>"`, "body "},
		{"a query parameter", jsonType, "/?q=%3Cb%3E", ``, "query parameter q "},
		{"a query parameter's name", jsonType, "/?%3Cb%3E=1", ``, "name of a query parameter"},
		{"a form field", form, "/", "a=1&b=%3Cscript%3E", "form field b "},
		{"the field of a form of parts", "multipart/form-data; boundary=b", "/", multi, "form field note "},
		{"the name of a file", "multipart/form-data; boundary=b", "/", file, "form field f "},
		{"a password's neighbour", jsonType, "/", `{"password":"<b>","name":"<b>"}`, "field name "},
	} {
		w := send(tc.contentType, tc.target, tc.body, nil)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.names) {
			t.Errorf("%s: %d %s, want 400 that names %q", tc.why, w.Code, w.Body, tc.names)
		}
	}
}

func TestMiddlewarePasses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ why, contentType, target, body string }{
		{"text with all that is special", "application/json", "/?q=" + url.QueryEscape(`AT&T's "<3"`), `{"a":"AT&T O'Brien 1 < 2 \n"}`},
		{"a password", "application/json", "/", `{"user":{"Password":"<b>x</b>","new_password":"<i>"}}`},
		{"what is in a password field", "application/json", "/", `{"password":["<b>",{"x":"<i>"}]}`},
		{"JSON that is none: the handler says so", "application/json", "/", `{"a":`},
		{"other text", "text/csv", "/", `a,<b>`},
		{"no body", "application/json", "/", ``},
	} {
		w := send(tc.contentType, tc.target, tc.body, nil)
		if w.Code != http.StatusOK || w.Body.String() != tc.body {
			t.Errorf("%s: %d %s, want 200 and the body as it was sent", tc.why, w.Code, w.Body)
		}
	}
}

func TestMiddlewareBounds(t *testing.T) {
	t.Parallel()
	small := &sanitize.Options{MaxBody: 10, Skip: []string{}}
	if w := send("application/json", "/", `{"password":"x"}`, small); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: %d %s, want 413", w.Code, w.Body)
	}
	if w := send("text/plain", "/", `["<b>"]`, small); w.Code != http.StatusBadRequest {
		t.Errorf("a body within the limit: %d %s, want 400", w.Code, w.Body)
	}
	if w := send("application/json", "/", `"<" `+strings.Repeat("[", 100_000), nil); w.Code != http.StatusBadRequest {
		t.Errorf("endless nesting: %d, want 400", w.Code)
	}
	long := `{"` + strings.Repeat("x", 100_000) + `":"<b>"}`
	if w := send("application/json", "/", long, nil); w.Code != http.StatusBadRequest || w.Body.Len() > 1000 {
		t.Errorf("a long name: %d and %d bytes, want 400 and a short response", w.Code, w.Body.Len())
	}
	if w := send("application/json", "/", `{"password":"<b>"}`, &sanitize.Options{Skip: []string{}}); w.Code != http.StatusBadRequest {
		t.Errorf("nothing skipped: %d, want 400", w.Code)
	}
}

// TestBrokenBody checks that a body that ends too soon is the client's fault.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("{"), broken{}))
	w := httptest.NewRecorder()
	sanitize.New(nil).Middleware(echo).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("%d %s, want 400", w.Code, w.Body)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzClean checks that escaping a text makes it clean, and that what is clean stays so
// within a JSON document.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"AT&T", "<b>", "&lt;", "a<", "<<a>", "\r\n<", "<\x00a>", "<!--"} {
		f.Add(seed)
	}
	policy := sanitize.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		if !policy.Clean(strings.ReplaceAll(s, "<", "&lt;")) {
			t.Errorf("%q is not clean when it is escaped", s)
		}
		// What is not parsed here, the library leaves as it is as well.
		text := strings.Map(noMarkup, strings.ToValidUTF8(s, ""))
		if got := html.UnescapeString(bluemonday.StrictPolicy().Sanitize(text)); !policy.Clean(text) || got != html.UnescapeString(text) {
			t.Errorf("%q holds no markup, and the library makes it %q", text, got)
		}
		if strings.Contains(strings.ToLower(s), "<script>") && policy.Clean(s) {
			t.Errorf("%q holds a script and is clean", s)
		}
	})
}

// FuzzTagLike checks that what passes has no comment, no known element and no attribute with
// an effect, also if the text after it completes a tag.
func FuzzTagLike(f *testing.F) {
	for _, seed := range []string{
		"a<b", "<<vPC for OTV>>", "to <core-1>", "<b", "<script", "a<b x=y", "<x hidden>", "</x></p>", "<svg:a>", "<a<b>", "<x/y>",
		"a<b\n<c>", "<x\fautofocus>", "a<b<x>", "<x<!-->", "<x>a<b", "</x/>", "</\x00",
	} {
		f.Add(seed)
	}
	policy := sanitize.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		if !policy.Clean(s) {
			return
		}
		body := &xhtml.Node{Type: xhtml.ElementNode, Data: "body", DataAtom: atom.Body}
		nodes, err := xhtml.ParseFragment(strings.NewReader(s), body)
		if err != nil {
			t.Fatal(err)
		}
		for _, top := range nodes {
			for node := range allNodes(top) {
				if node.Type == xhtml.TextNode {
					continue
				}
				if node.Type != xhtml.ElementNode || node.Namespace != "" || isElement(node.Data) {
					t.Errorf("%q has the node %q", s, node.Data)
				}
				for _, a := range node.Attr {
					if a.Val != "" || a.Key == "hidden" || a.Key == "autofocus" {
						t.Errorf("%q has the attribute %s=%q", s, a.Key, a.Val)
					}
				}
			}
		}
	})
}

func allNodes(n *xhtml.Node) iter.Seq[*xhtml.Node] {
	return func(yield func(*xhtml.Node) bool) {
		if !yield(n) {
			return
		}
		for child := range n.Descendants() {
			if !yield(child) {
				return
			}
		}
	}
}

// isElement reports whether the parser knows an element, among the names that it knows.
func isElement(name string) bool {
	switch atom.Lookup([]byte(name)) {
	case atom.Script, atom.Style, atom.B, atom.A, atom.P, atom.Br, atom.Img, atom.Svg, atom.Math, atom.Iframe, atom.Form, atom.Input,
		atom.Table, atom.Template, atom.Title, atom.Object, atom.Embed, atom.Base, atom.Link, atom.Meta, atom.Plaintext, atom.Xmp,
		atom.Body, atom.Head, atom.Html, atom.Details, atom.Video, atom.Audio, atom.Noscript, atom.Textarea, atom.Button, atom.Marquee:
		return true
	}
	return false
}

// TestSamples checks descriptions of real devices, which are in the directory that
// ASHLAR_SAMPLES names.
func TestSamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	policy := sanitize.New(nil)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !policy.Clean(line) {
				t.Errorf("%s: %q is refused", filepath.Base(file), line)
			}
		}
	}
}

// noMarkup replaces what can follow a "<" that begins something, and what the library
// changes in any text.
func noMarkup(c rune) rune {
	if c == '\r' || c == 0 || c == '&' || c < 128 && (c|' ' >= 'a' && c|' ' <= 'z' || strings.ContainsRune("/!?", c)) {
		return '.'
	}
	return c
}

// BenchmarkBrackets is the check of a body that is made to be slow.
func BenchmarkBrackets(b *testing.B) {
	body := "[" + strings.Repeat(`"</",`, 200_000) + `""]`
	for b.Loop() {
		send("application/json", "/", body, nil)
	}
}
