package schematest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// prompted is a package with inputs of every kind. They are environment variables, which
// may have any value, so that only the rules of the inputs count.
const prompted = `{"registryType":"npm","identifier":"w","version":"1.0.0","transport":{"type":"stdio"},"environmentVariables":[
	{"name":"TEXT"},{"name":"NEEDED","isRequired":true,"isSecret":true},{"name":"PRESET","isRequired":true,"default":"x"},
	{"name":"NUMBER","format":"number"},{"name":"FLAG","format":"boolean"},{"name":"PATH_TO","format":"filepath","placeholder":"/x"},
	{"name":"CHOICE","choices":["a","b"]},{"name":"TWICE"},{"name":"TWICE"},{"name":"FIXED","value":"{v}","variables":{"v":{"isRequired":true}}}],
	"packageArguments":[{"type":"positional","valueHint":"many","isRepeated":true,"isRequired":true,"choices":["x","y z"]},{"type":"named","name":"--n","isRepeated":true,"format":"number"}]}`

// TestFormSchema checks that values that the schema of a form accepts can be resolved.
func TestFormSchema(t *testing.T) {
	t.Parallel()
	var p manifest.Package
	if err := json.Unmarshal([]byte(prompted), &p); err != nil {
		t.Fatal(err)
	}
	form := launch.PackageForm(&p)
	reference := compiled(t, form.Schema())
	r := rand.New(rand.NewPCG(3, 9))
	accepted, rejected := 0, 0
	for range 3_000 {
		value := randomValues(r, form)
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		verdict := reference.Validate(parsed)
		err = resolved(&p, data)
		switch {
		case verdict == nil && err != nil:
			t.Fatalf("%s\nis accepted by the schema and cannot be resolved: %v", data, err)
		case verdict == nil:
			accepted++
		case err != nil:
			rejected++
		}
	}
	if accepted < 100 || rejected < 100 {
		t.Errorf("%d were accepted and %d refused: the generator is off balance", accepted, rejected)
	}
}

func compiled(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("form.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("form.json")
}

func resolved(p *manifest.Package, data []byte) error {
	var given launch.Values
	if err := json.Unmarshal(data, &given); err != nil {
		return err
	}
	_, err := launch.ResolvePackage(p, given, nil)
	var faults launch.Faults
	if err != nil && !errors.As(err, &faults) {
		panic(err)
	}
	return err
}

// randomValues returns mostly valid values.
func randomValues(r *rand.Rand, form *launch.Form) object {
	right := map[string]any{
		"NUMBER": 1.5, "FLAG": true, "CHOICE": "a", "many": array{"x", "y z"}, "--n": array{-3, "4"},
	}
	wrong := array{"", "x", "1e2", "-0", "01", "true", "True", "a", 7, -7, 1e20, true, array{}, array{"x"}, array{1}, array{"x", "y z"}, array{""}, nil, object{}}
	value := object{}
	for i := range form.Prompts {
		p := &form.Prompts[i]
		switch n := r.IntN(24); {
		case n == 0:
			value[p.Key] = wrong[r.IntN(len(wrong))]
		case n < 4 && !p.Required:
		case right[p.Key] != nil:
			value[p.Key] = right[p.Key]
		default:
			value[p.Key] = "some text"
		}
	}
	if r.IntN(20) == 0 {
		value["unknown"] = "x"
	}
	return value
}
