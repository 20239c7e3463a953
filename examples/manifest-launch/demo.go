package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ashlar-go/ashlar/manifest/launch"
)

//go:embed server.json
var demo []byte

// run starts the server of a file, or else of the demo, which is this program again, so that it
// exists on every machine.
func run(args []string) error {
	if len(args) > 0 && args[0] == "greeter" {
		return greet(args[1:], os.Stdin, os.Stdout)
	}
	text, err := read(args)
	if err != nil {
		return err
	}
	pack, err := firstPackage(text)
	if err != nil {
		return err
	}
	opts, err := launchers()
	if err != nil {
		return err
	}
	answers := bufio.NewScanner(os.Stdin)
	plan, err := complete(pack, opts, answers)
	if err != nil {
		return err
	}
	return start(plan, answers)
}

func read(files []string) ([]byte, error) {
	if len(files) > 0 {
		return os.ReadFile(files[0])
	}
	fmt.Print("This starts a server of its own. See what another manifest would start:\n\n" +
		"  go run ./examples/manifest-launch manifest/testdata/examples/local.json\n\n")
	return demo, nil
}

// launchers adds a registryType: "builtin" packages are commands of this program.
func launchers() (*launch.Options, error) {
	self, err := os.Executable()
	return &launch.Options{Launchers: map[string]launch.Launcher{
		"builtin": {Command: []string{self}, Package: []string{"{identifier}"}},
	}}, err
}

// ping returns a message to which all servers respond.
func ping() io.Reader { return strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n") }

// greet is the server of the demo. It prints its arguments on the error stream.
func greet(args []string, in io.Reader, out io.Writer) error {
	fmt.Fprintf(os.Stderr, "greeter: the arguments are %q, the key has %d letters\n", args, len(os.Getenv("GREETER_KEY")))
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if _, err := fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"result":{}}`); err != nil {
			return err
		}
	}
	return nil
}
