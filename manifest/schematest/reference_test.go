package schematest_test

import (
	"bytes"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// newValidator compiles the schema, with formats asserted.
func newValidator(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(manifest.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.RegisterFormat(&jsonschema.Format{Name: "uri", Validate: uriFormat})
	c.AssertFormat()
	if err := c.AddResource("manifest.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("manifest.json")
}

// RFC 3986, appendix A, but for the inside of an IPv6 address.
var uriForm = func() *regexp.Regexp {
	const (
		pct      = `%[0-9A-Fa-f]{2}`
		unres    = `A-Za-z0-9\-._~`
		sub      = `!$&'()*+,;=`
		pchar    = `(?:[` + unres + sub + `:@]|` + pct + `)`
		userinfo = `(?:(?:[` + unres + sub + `:]|` + pct + `)*@)?`
		name     = `(?:[` + unres + sub + `]|` + pct + `)*`
		future   = `[vV][0-9A-Fa-f]+\.[` + unres + sub + `:]+`
		host     = `(?:\[(?:` + future + `|[0-9A-Fa-f:.]+)\]|` + name + `)`
		auth     = userinfo + host + `(?::[0-9]*)?`
		abempty  = `(?:/` + pchar + `*)*`
		absolute = `/(?:` + pchar + `+(?:/` + pchar + `*)*)?`
		rootless = pchar + `+(?:/` + pchar + `*)*`
		query    = `(?:` + pchar + `|[/?])*`
	)
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.\-]*:(?://` + auth + abempty + `|` + absolute + `|` + rootless + `|)(?:\?` + query + `)?(?:#` + query + `)?$`)
}()

var bracketed = regexp.MustCompile(`^[^:]+://[^/?#]*\[([0-9A-Fa-f:.]+)\]`)

func uriFormat(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	if !uriForm.MatchString(s) {
		return errors.New("not of RFC 3986")
	}
	if m := bracketed.FindStringSubmatch(s); m != nil {
		if a, err := netip.ParseAddr(m[1]); err != nil || !a.Is6() {
			return errors.New("not an IPv6 address")
		}
	}
	return nil
}

// categories returns the category of every rule.
func categories() map[manifest.Rule]manifest.Category {
	m := make(map[manifest.Rule]manifest.Category)
	for _, r := range manifest.Rules() {
		m[r.Rule] = r.Category
	}
	return m
}

// comparison counts the verdicts on which both validators agree.
type comparison struct {
	reference       *jsonschema.Schema
	categories      map[manifest.Rule]manifest.Category
	valid, notValid int
}

func newComparison(t testing.TB) *comparison {
	return &comparison{reference: newValidator(t), categories: categories()}
}

// compare compares both validators on a document. It returns false for faults of the syntax and
// exceeded limits, which the schema cannot express.
func (b *comparison) compare(t testing.TB, data []byte, value any) bool {
	t.Helper()
	r := manifest.Validate(data, nil)
	var of [2]manifest.Problems // the schema's and others
	for _, p := range r.Problems {
		switch {
		case p.Severity != manifest.Error:
		case b.categories[p.Rule] == manifest.CategorySyntax:
			return false
		case b.categories[p.Rule] == manifest.CategorySchema:
			of[0] = append(of[0], p)
		default:
			of[1] = append(of[1], p)
		}
	}
	verdict := b.reference.Validate(value)
	if (verdict == nil) != (len(of[0]) == 0) {
		t.Errorf("%s\nthe schema reports: %v\nValidate reports: %v", cut(data), verdict, of[0])
	}
	if r.Valid() {
		resolves(t, data)
	}
	if r.Valid() && verdict != nil {
		t.Errorf("%s\nis valid and rejected by the schema: %v", cut(data), verdict)
	}
	if verdict == nil {
		readsAndWrites(t, data)
		b.valid++
	} else {
		b.notValid++
	}
	return true
}

// readsAndWrites checks that the types can read what the schema accepts, and that what they write
// has the same problems.
func readsAndWrites(t testing.TB, data []byte) {
	t.Helper()
	d, err := manifest.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Server()
	if err != nil {
		t.Fatalf("%s\n%v", cut(data), err)
	}
	written, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	before, after := d.Validate(nil), manifest.Validate(written, &manifest.Options{MaxBytes: 1 << 30})
	if before.Errors != after.Errors || before.Warnings != after.Warnings {
		t.Errorf("%s\nis written as\n%s\nwith other problems:\n%v\n%v", cut(data), cut(written), before.Problems, after.Problems)
	}
}

// resolves checks that a valid document can be resolved, or that resolving it reports faults.
func resolves(t testing.TB, data []byte) {
	t.Helper()
	d, err := manifest.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Server()
	if err != nil {
		t.Fatalf("%s\n%v", cut(data), err)
	}
	var errs []error
	for i := range s.Packages {
		_, err := launch.ResolvePackage(&s.Packages[i], nil, nil)
		errs = append(errs, err)
	}
	for i := range s.Remotes {
		_, err := launch.ResolveRemote(&s.Remotes[i], nil, nil)
		errs = append(errs, err)
	}
	for _, err := range errs {
		var faults launch.Faults
		if err != nil && !(errors.As(err, &faults) && len(faults) > 0 && err.Error() != "") {
			t.Errorf("%s\n%v", cut(data), err)
		}
	}
}

func cut(data []byte) string {
	if len(data) > 2000 {
		return string(data[:2000]) + "..."
	}
	return strings.ToValidUTF8(string(data), "?")
}
