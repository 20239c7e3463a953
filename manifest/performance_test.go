package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/manifest"
)

// typical is a manifest of about 2 KiB: two packages, a remote, and the usual optional keys.
func typical() []byte {
	const pack = `    {
      "registryType": "%s",
      "registryBaseUrl": "https://registry.example.com",
      "identifier": "@example/weather",
      "version": "1.4.2",
      "runtimeHint": "npx",
      "transport": {"type": "stdio"},
      "packageArguments": [
        {"type": "positional", "valueHint": "city", "description": "Where to look", "isRequired": true},
        {"type": "named", "name": "--units", "choices": ["metric", "imperial"], "default": "metric"}
      ],
      "environmentVariables": [
        {"name": "WEATHER_API_KEY", "description": "The key of the weather service", "isRequired": true, "isSecret": true},
        {"name": "LOG_LEVEL", "description": "How much to log", "default": "info", "choices": ["debug", "info", "warn"]}
      ]
    }`
	return []byte(`{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example/weather",
  "title": "Weather",
  "description": "Tells the weather of today and of the days to come",
  "version": "1.4.2",
  "websiteUrl": "https://example.com/weather",
  "repository": {"url": "https://github.com/example/weather", "source": "github", "id": "123456789"},
  "icons": [{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}],
  "packages": [
` + fmt.Sprintf(pack, "npm") + ",\n" + fmt.Sprintf(pack, "pypi") + `
  ],
  "remotes": [
    {"type": "streamable-http", "url": "https://{region}.example.com/mcp", "variables": {"region": {"default": "eu", "choices": ["eu", "us"]}},
     "headers": [{"name": "Authorization", "value": "Bearer {token}", "isSecret": true, "variables": {"token": {"isRequired": true, "isSecret": true}}}]}
  ]
}`)
}

// The types without their methods, so that encoding/json decodes them as it would
// any struct.
type (
	plainInput struct {
		Description, Format, Value, Default, Placeholder *string
		IsRequired, IsSecret                             *bool
		Choices                                          []string
	}
	plainArgument struct {
		plainInput
		Type, Name, ValueHint *string
		IsRepeated            *bool
		Variables             map[string]plainInput
	}
	plainTransport struct {
		Type, URL *string
		Headers   []plainArgument
		Variables map[string]plainInput
	}
	plainPackage struct {
		RegistryType, RegistryBaseURL, Identifier, Version, FileSHA256, RuntimeHint *string
		Transport                                                                   plainTransport
		RuntimeArguments, PackageArguments, EnvironmentVariables                    []plainArgument
	}
	plainServer struct {
		Schema                                        *string `json:"$schema"`
		Name, Title, Description, Version, WebsiteURL *string
		Icons                                         []struct {
			Src, MIMEType, Theme *string
			Sizes                []string
		}
		Repository struct{ URL, Source, ID, Subfolder *string }
		Packages   []plainPackage
		Remotes    []plainTransport
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
)

func BenchmarkValidate(b *testing.B) {
	data := typical()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if r := manifest.Validate(data, nil); !r.Valid() {
			b.Fatal(r.Problems)
		}
	}
}

func BenchmarkServer(b *testing.B) {
	data := typical()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := manifest.Parse(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Server(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	data := typical()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var s plainServer
		if err := json.Unmarshal(data, &s); err != nil {
			b.Fatal(err)
		}
	}
}

// fastest returns the shortest time of several runs, because other load of the machine
// affects it least.
func fastest(runs int, f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range runs {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestValidateIsFast checks that Validate takes at most 1.1 times as long as encoding/json needs
// to decode the same document into structs.
func TestValidateIsFast(t *testing.T) {
	data := typical()
	if r := manifest.Validate(data, nil); len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	decode := fastest(300, func() {
		var s plainServer
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
	})
	validate := fastest(300, func() { manifest.Validate(data, nil) })
	t.Logf("%d bytes: validated in %v, decoded by encoding/json in %v", len(data), validate, decode)
	if validate > decode*11/10 && !scaletest.Race() {
		t.Errorf("validating takes %v, more than 1.1 times the %v of decoding", validate, decode)
	}
}

// usual returns a typical document of the size of the pathological ones.
func usual() []byte {
	one := append(typical(), ',')
	many := bytes.Repeat(one, pathological/len(one))
	return slices.Concat([]byte("["), many, []byte("0]"))
}

// TestPathologicalDocuments checks that documents made to be slow are read and validated in
// linear time: a few times as long as encoding/json needs to decode a usual document of that
// size. A quadratic algorithm would take hundreds of times as long. Both are measured side
// by side, so that other load affects them equally.
func TestPathologicalDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	plain := usual()
	decode := func() {
		var v any
		if err := json.Unmarshal(plain, &v); err != nil {
			t.Fatal(err)
		}
	}
	baseline := fastest(5, decode)
	var worst time.Duration
	var worstName string
	fill := func(before, part, after string) string {
		return before + strings.Repeat(part, (pathological-len(before)-len(after))/len(part)) + after
	}
	numbered := func(before, part, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len()+len(after)+len(part)+10 < pathological; i++ {
			fmt.Fprintf(&b, part, i)
		}
		return b.String() + after
	}
	inURL := `{"packages":[{"transport":{"type":"sse","url":"https://`
	for name, text := range map[string]string{
		"arrays that stay open":      fill("", "[", ""),
		"objects that stay open":     fill("", `{"":`, ""),
		"empty arrays":               fill("[", "[],", "0]"),
		"numbers":                    fill("[", "0,", "0]"),
		"one long number":            fill("[", "1", "]"),
		"escapes":                    fill(`["`, `\u00e9`, `"]`),
		"invalid UTF-8":              fill(`["`, "\xff", `"]`),
		"lone surrogates":            fill(`["`, `\ud800`, `"]`),
		"equal keys":                 fill("{", `"a":0,`, `"a":0}`),
		"different keys":             numbered("{", `"%d":0,`, `"a":0}`),
		"keys that are nearly known": numbered("{", `"NA_ME%d":0,"NAME_":0,"N_AME":0,`, `"a":0}`),
		"wrong packages":             fill(`{"packages":[`, "0,", "0]}"),
		"lacking packages":           fill(`{"packages":[`, "{},", "{}]}"),
		"lacking types":              fill(`{"packages":[{"packageArguments":[`, `{"value":""},`, `{}]}]}`),
		"blank keys":                 fill(`{"packages":[`, `{"version":"","runtimeHint":null},`, `{}]}`),
		"white space":                fill(strings.Repeat(" ", pathological/4)+`{`+strings.Repeat(" ", pathological/4)+`"packages":[`, "{},", "{}]}"),
		"runtime arguments":          fill(`{"packages":[`, `{"runtimeArguments":[{}]},`, "{}]}"),
		"variables of a url":         numbered(inURL, "{%d}", `"}}]}`),
		"braces":                     fill(inURL, "{", `"}}]}`),
		"pairs of braces":            fill(inURL, "{}", `"}}]}`),
		"placeholders":               fill(inURL, "{{__<<", `"}}]}`),
		"a long version":             fill(`{"packages":[{"version":"`, ">=1 ", `"}]}`),
		"versions and commas":        fill(`{"packages":[{"version":"`, "1,", `1"}]}`),
		"environment":                numbered(`{"packages":[{"environmentVariables":[`, `{"name":"%d"},`, `{}]}]}`),
		"a long key":                 fill(`{"packages":[{"`, "/", `":0,"version":{}}]}`),
		"long keys on the way":       fill(`{"remotes":[{"type":"sse","variables":{"`, "~", `":{"value":0,"default":0,"format":0}}}]}`),
		"line breaks":                fill("[", "\r\n", "x]"),
		"a long name":                fill(`{"name":"`, "a/", `"}`),
		"a long path":                fill(`{"repository":{"subfolder":"`, "a/", `a"}}`),
	} {
		for _, p := range []manifest.Profile{manifest.Neutral, manifest.Schema20251017, manifest.Registry} {
			var r *manifest.Report
			opts := &manifest.Options{Profile: p}
			run := func() { r = manifest.Validate([]byte(text), opts) }
			took := fastest(1, run)
			for n := 0; took > slowest*baseline && n < 10; n++ {
				took, baseline = fastest(1, run), fastest(1, decode) // the machine may have other load
			}
			if took > worst {
				worst, worstName = took, name
			}
			if took > slowest*baseline { // the others would only take as long
				t.Fatalf("%s, %v: %d bytes take %v, more than %d times the %v of decoding a usual document", name, p, len(text), took, slowest, baseline)
			}
			checkReport(t, []byte(text), r)
		}
	}
	t.Logf("the slowest is %q with %v; a usual document is decoded in %v", worstName, worst, baseline)
}

// TestPathologicalFixes checks that fixes come to an end in a time that is linear in the size of a
// document: in rounds, each of which takes about as long as a validation.
func TestPathologicalFixes(t *testing.T) {
	const rounds = 20
	parts := 10_000
	if testing.Short() {
		parts = 500
	}
	for _, part := range []string{
		"{}", `{"version":"","runtimeHint":null}`, `{"runtimeArguments":[{"value":""}]}`, `{"N_AME":0,"NAME_":0}`, `{"version":"^1"}`,
	} {
		text := strings.Repeat(" ", pathological/8) + "{" + strings.Repeat(" ", pathological/8) + `"packages":[` + strings.Repeat(part+",", parts) + "0]}"
		base := fastest(3, func() { manifest.Validate([]byte(text), &manifest.Options{MaxProblems: 10_000}) })
		took := fastest(1, func() {
			if fixed, done, _ := manifest.Fix([]byte(text), nil); len(done) == 0 || !json.Valid(fixed) {
				t.Errorf("%s: %d fixes became %.200s", part, len(done), fixed)
			}
		})
		t.Logf("%-40s validated in %v, fixed in %v", part, base, took)
		if took > 4*rounds*base {
			t.Errorf("%s: fixing takes %v, more than %d times the %v of validating", part, took, 4*rounds, base)
		}
	}
}
