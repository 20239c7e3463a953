package launch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// corpus reads the manifests of the corpus, and of another one if the environment names its
// directory. Those that are not valid have no targets.
func corpus(t testing.TB) [][]byte {
	t.Helper()
	dirs := []string{filepath.Join("..", "testdata", "corpus")}
	if more := os.Getenv("ASHLAR_MANIFEST_CORPUS"); more != "" {
		dirs = append(dirs, more)
	}
	var all [][]byte
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
		if err != nil || len(files) < 50 {
			t.Fatalf("%s has %d files: %v", dir, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data)
		}
	}
	return all
}

// target is a package or a remote.
type target struct {
	form    *launch.Form
	resolve func(launch.Values) error
}

// targets of a document that is valid; none of one that is not.
func targets(t testing.TB, data []byte) []target {
	t.Helper()
	d, err := manifest.Parse(data, nil)
	if err != nil || !d.Validate(nil).Valid() {
		return nil
	}
	s, err := d.Server()
	if err != nil {
		t.Fatalf("a valid document has no struct: %v", err)
	}
	var all []target
	for i := range s.Packages {
		p := &s.Packages[i]
		all = append(all, target{launch.PackageForm(p), func(v launch.Values) error {
			plan, err := launch.ResolvePackage(p, v, &launch.Options{Pointer: fmt.Sprintf("/packages/%d", i)})
			if err == nil {
				checkOrigins(t, d, plan)
			}
			return err
		}})
	}
	for i := range s.Remotes {
		r := &s.Remotes[i]
		all = append(all, target{launch.RemoteForm(r), func(v launch.Values) error { _, err := launch.ResolveRemote(r, v, nil); return err }})
	}
	return all
}

// checkOrigins checks that every origin is the pointer of a value of the document.
func checkOrigins(t testing.TB, d *manifest.Document, p *launch.Plan) {
	t.Helper()
	origins := make(map[string]bool)
	for _, i := range slices.Concat(p.Command, p.Arguments) {
		origins[i.Origin] = true
	}
	for _, s := range slices.Concat(p.Environment, p.Headers, p.Paths) {
		origins[s.Origin] = true
	}
	for _, n := range p.Notices {
		origins[n.Pointer] = true
	}
	delete(origins, "")
	for o := range origins {
		if d.Lookup(o) == nil {
			t.Errorf("no value at the origin %s", o)
		}
	}
}

// resolvesOrNames checks that a valid target can be resolved, or that its faults name the missing
// inputs. With all inputs, only the manifest itself can be at fault.
func resolvesOrNames(t testing.TB, target target) {
	t.Helper()
	given := launch.Values{}
	for range 4 { // a url may miss what is not required otherwise
		err := target.resolve(given)
		if err == nil {
			return
		}
		var faults launch.Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("got %v", err)
		}
		missing := faults.Missing()
		if len(missing) == 0 {
			if unfit := slices.IndexFunc(faults, func(f launch.Fault) bool { return f.Kind == launch.FaultValue }); unfit >= 0 && given[faults[unfit].Key][0] != "8080" {
				given[faults[unfit].Key] = []string{"8080"} // fits into a host
				continue
			}
			for _, f := range faults {
				if f.Kind != launch.FaultManifest || f.Message == "" {
					t.Fatalf("no input is missing: %+v", f)
				}
			}
			return
		}
		for _, key := range missing {
			at := slices.IndexFunc(target.form.Prompts, func(p launch.Prompt) bool { return p.Key == key })
			if at < 0 {
				t.Fatalf("%q is missing and not in the form", key)
			}
			given[key] = []string{answer(&target.form.Prompts[at])}
		}
	}
	if faults := target.resolve(given).(launch.Faults); len(faults.Missing()) > 0 && len(faults) < 100 {
		t.Fatalf("with all missing inputs: %v", faults)
	}
}

// answer returns a value that the input accepts.
func answer(p *launch.Prompt) string {
	switch {
	case len(p.Choices) > 0:
		return p.Choices[0]
	case p.Format == "number":
		return "8080"
	case p.Format == "boolean":
		return "true"
	}
	return "https://e.com"
}

func TestCorpusResolves(t *testing.T) {
	t.Parallel()
	n := 0
	for _, data := range corpus(t) {
		for _, target := range targets(t, data) {
			n++
			resolvesOrNames(t, target)
		}
	}
	if n < 20 {
		t.Errorf("only %d packages and remotes were looked at", n)
	}
}

// nasty are strings that could end a value early.
var nasty = [...]string{
	"a", " ", "-", "--", "-rf", "\"", "'", "`", "$(x)", "${X}", ";", "|", "&", "\n", "\r\n", "\t", "\\", "/", "..", "?", "#", "@", ":", "%", "%2e", "{a}", "{b}", "{", "}",
	"=", "X: y", "é", "\u202e", "\xff", "://", "[", "]", "*", "~", "<", ">", "\u2028", "http://evil.example",
}

func nastyText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(5) {
		b.WriteString(nasty[r.IntN(len(nasty))])
	}
	return b.String()
}

// everywhere is a package with a value of a user wherever one is possible.
const everywhere = `"registryType":"oci","identifier":"e/w:1",
	"runtimeArguments":[{"type":"named","name":"--mount","value":"src={a},dst=/x","variables":{"a":{}}}],
	"packageArguments":[{"type":"positional","valueHint":"p"},{"type":"named","name":"--n"},{"type":"positional","value":"x{c}","variables":{"c":{}}}],
	"environmentVariables":[{"name":"A_E"},{"name":"A_F","value":"{d}{d}","variables":{"d":{}}}],
	"transport":{"type":"sse","url":"https://h.example/a/{p}/b?q={--n}&r={A_E}#{A_F}","headers":[{"name":"H","value":"x {g}","variables":{"g":{}}},{"name":"I"}]}`

// TestValuesStayInTheirPlace checks that any values of a user lead to the same number of arguments,
// variables and headers as harmless ones, to the same values of the publisher, and to the same host
// and path of the url.
func TestValuesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	p := packed(t, everywhere)
	plain, err := launch.ResolvePackage(p, answers(p, func() string { return "v" }), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 7))
	resolved := 0
	for range 3_000 {
		given := answers(p, func() string { return nastyText(r) })
		plan, err := launch.ResolvePackage(p, given, nil)
		if err != nil {
			var faults launch.Faults
			if !errors.As(err, &faults) || slices.ContainsFunc(faults, func(f launch.Fault) bool { return f.Kind != launch.FaultValue && f.Pointer != "/transport/url" }) {
				t.Fatalf("%q: %v", given, err)
			}
			continue
		}
		resolved++
		samePlaces(t, given, plan, plain)
	}
	if resolved < 150 {
		t.Errorf("only %d of 3000 were resolved", resolved)
	}
}

func answers(p *manifest.Package, text func() string) launch.Values {
	given := launch.Values{}
	for _, prompt := range launch.PackageForm(p).Prompts {
		given[prompt.Key] = []string{text()}
	}
	return given
}

func samePlaces(t *testing.T, given launch.Values, plan, plain *launch.Plan) {
	t.Helper()
	argv, want := plan.Argv(), plain.Argv()
	if at := slices.Index(want, "--n"); strings.HasPrefix(argv[at], "--n=") {
		argv = slices.Insert(argv, at+1, strings.TrimPrefix(argv[at], "--n="))
		argv[at] = "--n"
	}
	if len(argv) != len(want) {
		t.Fatalf("%q: got %q, want as many as %q", given, argv, want)
	}
	for i := range argv {
		filled := map[string]string{"v": given["p"][0], "src=v,dst=/x": "src=" + given["a"][0] + ",dst=/x", "xv": "x" + given["c"][0]}[want[i]]
		if want[i] == "v" && argv[i-1] == "--n" {
			filled = given["--n"][0]
		}
		if argv[i] != want[i] && argv[i] != filled {
			t.Fatalf("%q: argument %d is %q, want %q or %q", given, i, argv[i], want[i], filled)
		}
	}
	if got := strings.Join(plan.Env(), "\x00"); got != "A_E="+given["A_E"][0]+"\x00A_F="+given["d"][0]+given["d"][0] {
		t.Fatalf("%q: the environment is %q", given, got)
	}
	if len(plan.Headers) != 2 || strings.ContainsAny(plan.Headers[0].Value.Reveal()+plan.Headers[1].Value.Reveal(), "\r\n\x00") {
		t.Fatalf("%q: the headers are %q", given, plan.Headers)
	}
	sameURL(t, given, plan.URL.Value.Reveal())
}

func sameURL(t *testing.T, given launch.Values, text string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "h.example" || strings.Count(u.EscapedPath(), "/") != 3 || u.Path != "/a/"+given["p"][0]+"/b" || len(q) != 2 ||
		q.Get("q") != given["--n"][0] || q.Get("r") != given["A_E"][0] || u.Fragment != given["d"][0]+given["d"][0] {
		t.Fatalf("%q: the url is %s", given, text)
	}
}

// FuzzNumber checks that numbers are written exactly and as decimals.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1.50", "1e2", "-12.5E-3", "1e400", "0.0e5", "120e-1", "1e+05", "00", "+1", "1.", ".5", "0x1", "NaN", "1e999999999999", "1 "} {
		f.Add(seed)
	}
	decimal := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := launch.ResolvePackage(packed(t, npm+`"environmentVariables":[{"name":"N","format":"number","isRequired":true}]`), values("N", text), nil)
		if err != nil {
			if len(text) < 100 && json.Valid([]byte(text)) && decimal.MatchString(text) {
				t.Errorf("%q is rejected: %v", text, err)
			}
			return
		}
		got := plan.Environment[0].Value.Reveal()
		was, ok := new(big.Rat).SetString(text)
		is, ok2 := new(big.Rat).SetString(got)
		if !ok || !ok2 || was.Cmp(is) != 0 || !decimal.MatchString(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// FuzzResolve checks that a valid document is resolved with any value, or has faults.
func FuzzResolve(f *testing.F) {
	for _, data := range corpus(f) {
		if len(data) < 4096 {
			f.Add(data, "x")
		}
	}
	f.Add([]byte(`{"name":"a/b","description":"d","version":"1","packages":[{`+everywhere+`}]}`), "-\r\n/../{p}")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		for _, target := range targets(t, data) {
			given := launch.Values{}
			for _, p := range target.form.Prompts {
				given[p.Key] = []string{value}
			}
			if err := target.resolve(given); err != nil && err.Error() == "" {
				t.Error("a fault has no message")
			}
			resolvesOrNames(t, target)
		}
	})
}
