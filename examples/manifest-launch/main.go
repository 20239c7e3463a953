// Manifest-launch starts a server from its manifest: it asks for the missing values, shows the
// command, and runs it without a shell if the user agrees.
//
//	go run ./examples/manifest-launch [server.json]
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// firstPackage reads a manifest that is valid and has packages.
func firstPackage(text []byte) (*manifest.Package, error) {
	doc, _ := manifest.Parse(text, nil) // Validate reports its errors too
	if err := doc.Validate(nil).Err(); err != nil {
		return nil, err
	}
	server, err := doc.Server()
	if err != nil || len(server.Packages) == 0 {
		return nil, cmp.Or(err, errors.New("the manifest has no packages"))
	}
	return &server.Packages[0], nil
}

// complete asks for values that are missing or invalid. It echoes them: a real client hides
// the input for a prompt of [launch.PackageForm] that is secret.
func complete(pack *manifest.Package, opts *launch.Options, answers *bufio.Scanner) (*launch.Plan, error) {
	for given := (launch.Values{}); ; {
		plan, err := launch.ResolvePackage(pack, given, opts)
		faults, _ := errors.AsType[launch.Faults](err)
		if len(faults) == 0 {
			return plan, err
		}
		for _, f := range faults {
			if f.Key == "" {
				return nil, err // no value helps
			}
			if fmt.Printf("%s\n  %s\n> ", f.Message, f.Suggestion); !answers.Scan() {
				return nil, io.EOF
			}
			given[f.Key] = []string{answers.Text()}
		}
	}
}

// start runs the plan if the user agrees, and sends the server a ping.
func start(plan *launch.Plan, answers *bufio.Scanner) error {
	if plan.Transport != manifest.Stdio || len(plan.Files)+len(plan.Setup) > 0 {
		return errors.New("it needs more than this example does: stdio, with nothing to fetch or install")
	}
	fmt.Print("\n", plan.Consent(), "Start it (y/n)? ")
	if !answers.Scan() || answers.Text() != "y" {
		return io.EOF
	}
	argv := plan.Argv()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), plan.Env()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ping(), os.Stdout, os.Stderr
	return cmd.Run()
}

func main() {
	switch err := run(os.Args[1:]); {
	case errors.Is(err, io.EOF):
		fmt.Println("\nnothing was started")
	case err != nil:
		fmt.Fprintln(os.Stderr, "manifest-launch:", err)
		os.Exit(1)
	}
}
