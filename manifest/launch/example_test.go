package launch_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// read returns a document of testdata/examples.
func read(name string) *manifest.Server {
	data, err := os.ReadFile("../testdata/examples/" + name)
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

// A client asks for missing values, shows the command, and runs it without a shell.
func ExampleResolvePackage() {
	pack := &read("local.json").Packages[0]
	_, err := launch.ResolvePackage(pack, nil, nil)
	var faults launch.Faults
	if errors.As(err, &faults) {
		fmt.Println("missing:", faults.Missing())
	}

	plan, err := launch.ResolvePackage(pack, launch.Values{"city": {"Rome", "São Paulo"}, "WEATHER_API_KEY": {"wk-123"}}, nil)
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
	// This command is run with all your permissions on this machine:
	//   npx -y @example/weather@1.4.2 serve --units metric Rome 'São Paulo'
	// with these environment variables:
	//   WEATHER_API_KEY='***'
	//   LOG_LEVEL=info
}

// For a container, values stay out of the command line, the port of the url is published to this
// machine only, and paths become absolute.
func ExampleResolvePackage_container() {
	plan, err := launch.ResolvePackage(&read("container.json").Packages[0],
		launch.Values{"notes": {"notes"}, "token": {"hunter2"}, "--port": {"9000"}},
		&launch.Options{Dir: "/home/ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Command)
	fmt.Println(plan.URL.Value, plan.Headers[0].Name, plan.Headers[0].Value)
	// Output:
	// docker run -i --rm --mount type=bind,src=/home/ann/notes,dst=/notes -e NOTES_READ_ONLY -p 127.0.0.1:9000:9000 images.example.com/notes:2.0.1 --port 9000
	// http://localhost:9000/mcp Authorization ***
}

// A remote becomes an endpoint. A value stays in its component of the url.
func ExampleResolveRemote() {
	remote := &read("remote.json").Remotes[0]
	for _, workspace := range []string{"acme", "acme/admin?x=", "../admin"} {
		e, err := launch.ResolveRemote(remote, launch.Values{"workspace": {workspace}, "token": {"hunter2"}}, nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(e.URL.Value)
	}
	// Output:
	// https://eu.tickets.example.com/acme/mcp
	// https://eu.tickets.example.com/acme%2Fadmin%3Fx=/mcp
	// /variables/workspace: the value of "workspace" is empty or has a path segment of dots only
}

// A form lists what to ask a user for.
func ExamplePackageForm() {
	for _, p := range launch.PackageForm(&read("local.json").Packages[0]).Prompts {
		fmt.Printf("%s: %s (required %v, secret %v)\n", p.Key, p.Description, p.Required, p.Secret)
	}
	// Output:
	// --units: Units of what is told (required false, secret false)
	// city: Where to look (required true, secret false)
	// WEATHER_API_KEY: The key of your account (required true, secret true)
	// LOG_LEVEL: How much is logged (required false, secret false)
}

// The schema is for clients that generate dialogs.
func ExampleForm_Schema() {
	fmt.Println(string(launch.RemoteForm(&read("remote.json").Remotes[0]).Schema()))
	// Output:
	// {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{"region":{"title":"region","description":"Where your data is kept","enum":["eu","us"],"default":"eu"},"workspace":{"title":"workspace","description":"The name of your workspace","type":"string","minLength":1},"token":{"title":"token","description":"A personal access token","type":"string","minLength":1,"writeOnly":true},"X-Read-Only":{"title":"X-Read-Only","description":"Whether tickets can be changed","enum":[true,false,"true","false"],"default":"false"}},"required":["workspace","token"]}
}
