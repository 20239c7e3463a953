package client_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/client"
	"github.com/ashlar-go/ashlar/manifest"
)

// A secret becomes an input that the program asks for. What is in the file stays.
func ExampleProgram_Add() {
	data, err := os.ReadFile("../../../../manifest/testdata/examples/local.json")
	if err != nil {
		log.Fatal(err)
	}
	d, err := manifest.Parse(data, nil)
	if err != nil {
		log.Fatal(err)
	}
	server, err := d.Server()
	if err != nil {
		log.Fatal(err)
	}
	program, err := client.Find("codex")
	if err != nil {
		log.Fatal(err)
	}
	entry, err := program.Entry(&client.Server{
		Name: client.Name(server.Name), Package: &server.Packages[0], Values: map[string][]string{"city": {"Rome"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	file, err := program.Add([]byte("model = \"fast\" # mine\n"), entry)
	fmt.Print(string(file))
	fmt.Println("to set:", entry.Needs[0].Name, err)
	// Output:
	// model = "fast" # mine
	//
	// [mcp_servers.weather]
	// command = "npx"
	// args = ["-y", "@example/weather@1.4.2", "serve", "--units", "metric", "Rome"]
	// env = { "LOG_LEVEL" = "info" }
	// env_vars = ["WEATHER_API_KEY"]
	// to set: WEATHER_API_KEY <nil>
}
