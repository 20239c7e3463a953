package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/ashlar-go/ashlar/manifest"
)

func Example() {
	data := []byte(`{
  "name": "com.example/weather",
  "description": "Tells the weather",
  "version": "1.4.2",
  "packages": [{
    "registryType": "PyPI",
    "identifier": "weather",
    "version": "^1.4.2",
    "transport": {"type": "Stdio"}
  }]
}`)
	report := manifest.Validate(data, nil)
	for _, p := range report.Problems {
		fmt.Printf("%d:%d: %s: %s\n\t%s\n", p.Line, p.Column, p.Severity, p.Message, p.Suggestion)
	}
	fmt.Println(report.Valid())
	// Output:
	// 6:21: warning: registryType "PyPI" is the well-known "pypi" in another case
	// 	write it in lower case
	// 8:16: error: packages[0].version is "^1.4.2", which is a range: ^ compares versions
	// 	name one version, such as "1.4.2"
	// 9:27: error: packages[0].transport.type is "Stdio", which is not allowed
	// 	did you mean "stdio"?
	// false
}

// A registry requires more than the specification.
func ExampleOptions() {
	data := []byte(`{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example/weather",
  "description": "Tells the weather",
  "version": "1.4.2",
  "remotes": [{"type": "sse", "url": "http://localhost:8080/sse"}]
}`)
	fmt.Println(manifest.Validate(data, nil).Valid())
	fmt.Println(manifest.Validate(data, &manifest.Options{Profile: manifest.Registry}).Err())
	// Output:
	// true
	// 6:38: /remotes/0/url: url "http://localhost:8080/sse" points to the user's own machine (use a host that others can reach)
}

// Two readers of this document would install different packages.
func ExampleParse() {
	_, err := manifest.Parse([]byte(`{"packages": [{"identifier": "evil", "identifier": "weather"}]}`), nil)
	var p *manifest.Problem
	if errors.As(err, &p) {
		fmt.Println(p.Rule, "at", p.Pointer)
	}
	fmt.Println(err)
	// Output:
	// json-duplicate-key at /packages/0/identifier
	// 1:38: /packages/0/identifier: duplicate key "identifier" (keep one of them)
}

// Unknown keys are preserved, and absent keys stay absent.
func ExampleDocument_Server() {
	d, err := manifest.Parse([]byte(`{"com.example/notes": [1.0], "version": "1.4.2",
		"name": "com.example/weather", "description": "Tells the weather", "icons": []}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	server, err := d.Server()
	if err != nil {
		log.Fatal(err)
	}
	server.Title = new("Weather")
	data, err := json.Marshal(server)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output:
	// {"name":"com.example/weather","title":"Weather","description":"Tells the weather","version":"1.4.2","icons":[],"com.example/notes":[1.0]}
}

// Profiles have names for flags and forms.
func ExampleParseProfile() {
	profile, err := manifest.ParseProfile("registry")
	fmt.Println(profile == manifest.Registry, err)
	_, err = manifest.ParseProfile("2024-01-01")
	fmt.Println(err)
	// Output:
	// true <nil>
	// unknown profile "2024-01-01": use neutral, 2025-09-29, 2025-10-17, 2025-12-11, registry, declared or publish
}

// A manifest of an older schema becomes a current one and keeps its formatting.
func ExampleDocument_Migrate() {
	d, err := manifest.Parse([]byte(`{"status": "active",  "packages": [{"registry_type": "oci", "identifier": "example/weather", "version": "1.4.2"}]}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	m, err := d.Migrate("2025-07-09")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range m.Changes {
		fmt.Println(c.Pointer, c.Message)
	}
	fmt.Println(string(m.Apply(d.Text())))
	// Output:
	// /$schema write the schema of 2025-12-11: the document has keys of 2025-07-09
	// /status remove it: the current schema has no status
	// /packages/0/identifier move registry and version of the image here: "example/weather:1.4.2"
	// /packages/0/version remove it: the version of an image is part of its identifier
	// /packages/0/registry_type rename the key to "registryType"
	// {"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "packages": [{"registryType": "oci", "identifier": "example/weather:1.4.2"}]}
}

// A manifest with faults still has a package that can be used.
func ExampleDocument_Read() {
	d, err := manifest.Parse([]byte(`{"name": "com.example/weather", "repository": {}, "packages": [
		{"registryType": "npm", "identifier": "@example/weather", "version": "latest", "transport": {"type": "stdio"}},
		{"registryType": "pypi", "identifier": "weather", "version": "1.4.2", "transport": {"type": "stdio"}}]}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	reading := d.Read(nil)
	fmt.Println(reading.Report.Errors, "errors")
	for i := range reading.Server.Packages {
		if p, err := reading.Package(i); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(p.RegistryType, p.Identifier)
		}
	}
	// Output:
	// 4 errors
	// 2:72: /packages/0/version: packages[0].version is latest, which is not a specific version (write the version, such as 1.0.0)
	// pypi weather
}

// All other bytes of the document stay as they are.
func ExampleDocument_Set() {
	d, err := manifest.Parse([]byte("{\n\t\"name\": \"com.example/weather\",   \"version\": \"1.4.2\"\n}"), nil)
	if err != nil {
		log.Fatal(err)
	}
	if d, err = d.Set("/version", "1.4.3"); err != nil {
		log.Fatal(err)
	}
	if d, err = d.Set("/repository", manifest.Repository{URL: "https://github.com/example/weather", Source: "github"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Text())
	// Output:
	// {
	// 	"name": "com.example/weather",   "version": "1.4.3",   "repository": {"url": "https://github.com/example/weather", "source": "github"}
	// }
}
