package manifest_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/ashlar-go/ashlar/manifest"
)

// read is a document of testdata/examples.
func read(name string) *manifest.Server {
	data, err := os.ReadFile("testdata/examples/" + name)
	if err != nil {
		log.Fatal(err)
	}
	d, err := manifest.Parse(data, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Validate(nil).Err(); err != nil {
		log.Fatal(err)
	}
	server, err := d.Server()
	if err != nil {
		log.Fatal(err)
	}
	return server
}

// A client asks for what is missing, shows what would be run, and runs it without a
// shell.
func ExamplePackage_Resolve() {
	pack := &read("local.json").Packages[0]
	_, err := pack.Resolve(nil, nil)
	var faults manifest.Faults
	if errors.As(err, &faults) {
		fmt.Println("missing:", faults.Missing())
	}

	plan, err := pack.Resolve(manifest.Values{"city": {"Rome", "São Paulo"}, "WEATHER_API_KEY": {"wk-123"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan.Consent())

	argv := plan.Argv()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), plan.Env()...)
	// cmd.Start()

	// Output:
	// missing: [city WEATHER_API_KEY]
	// This command is run, with all that you may do on this machine:
	//   npx -y @example/weather@1.4.2 serve --units metric Rome 'São Paulo'
	// with these environment variables:
	//   WEATHER_API_KEY='***'
	//   LOG_LEVEL=info
}

// A container: values stay out of the command line, the port of the url is published
// to this machine alone, and a path is given as the user sees it.
func ExamplePackage_Resolve_container() {
	plan, err := read("container.json").Packages[0].Resolve(
		manifest.Values{"notes": {"notes"}, "token": {"hunter2"}, "--port": {"9000"}},
		&manifest.ResolveOptions{Dir: "/home/ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Command)
	fmt.Println(plan.URL.Value, plan.Headers[0].Name, plan.Headers[0].Value)
	// Output:
	// docker run -i --rm --mount type=bind,src=/home/ann/notes,dst=/notes -e NOTES_READ_ONLY -p 127.0.0.1:9000:9000 images.example.com/notes:2.0.1 --port 9000
	// http://localhost:9000/mcp Authorization ***
}

// A remote is an endpoint. A value stays in its part of the url.
func ExampleRemote_Resolve() {
	remote := &read("remote.json").Remotes[0]
	for _, workspace := range []string{"acme", "acme/admin?x=", "../admin"} {
		e, err := remote.Resolve(manifest.Values{"workspace": {workspace}, "token": {"hunter2"}}, nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(e.URL.Value)
	}
	// Output:
	// https://eu.tickets.example.com/acme/mcp
	// https://eu.tickets.example.com/acme%2Fadmin%3Fx=/mcp
	// /variables/workspace: the value of "workspace" is empty or has a segment that is nothing but dots
}

// An old manifest becomes a current one, and stays formatted as it is.
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
	// /status there is no status any more
	// /packages/0/identifier the identifier of an image has its registry and version: "example/weather:1.4.2"
	// /packages/0/version the version of an image is part of its identifier
	// /packages/0/registry_type the key "registry_type" is now "registryType"
	// {"packages": [{"registryType": "oci", "identifier": "example/weather:1.4.2"}]}
}

// What to ask a user for.
func ExamplePackage_Form() {
	for _, p := range read("local.json").Packages[0].Form().Prompts {
		fmt.Printf("%s: %s (required %v, secret %v)\n", p.Key, p.Description, p.Required, p.Secret)
	}
	// Output:
	// --units: Units of what is told (required false, secret false)
	// city: Where to look (required true, secret false)
	// WEATHER_API_KEY: The key of your account (required true, secret true)
	// LOG_LEVEL: How much is logged (required false, secret false)
}

// The same for clients that make a dialogue of a schema.
func ExampleForm_Schema() {
	fmt.Println(string(read("remote.json").Remotes[0].Form().Schema()))
	// Output:
	// {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{"region":{"title":"region","description":"Where your data is kept","enum":["eu","us"],"default":"eu"},"workspace":{"title":"workspace","description":"The name of your workspace","type":"string","minLength":1},"token":{"title":"token","description":"A personal access token","type":"string","minLength":1,"writeOnly":true},"X-Read-Only":{"title":"X-Read-Only","description":"Whether tickets can be changed","enum":[true,false,"true","false"],"default":"false"}},"required":["workspace","token"]}
}
