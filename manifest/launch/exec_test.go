package launch_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/manifest/launch"
)

// TestProcessGetsValues starts a plan with this test as the server and checks that the values
// arrive unchanged.
func TestProcessGetsValues(t *testing.T) {
	t.Parallel()
	const variable = "ASHLAR_MANIFEST_ECHO"
	if os.Getenv(variable) != "" {
		echo()
		return
	}
	p := packed(t, `"registryType":"self","identifier":"w","version":"1.0.0","packageArguments":[{"type":"positional","valueHint":"many","isRepeated":true},{"type":"named","name":"--n"}],
		"environmentVariables":[{"name":"`+variable+`","value":"1"},{"name":"KEY","isSecret":true}]`)
	nasty := []string{"a b", `"; rm -rf ~ #`, "$(x) `y` ${Z}", "'", "\n", "*", "é\xff", "%PATH%", `\`}
	plan, err := launch.ResolvePackage(p, launch.Values{"many": nasty, "--n": {"-x=1"}, "KEY": {"a\n'b"}}, &launch.Options{
		Launchers: map[string]launch.Launcher{"self": {Command: []string{os.Args[0], "-test.run=^" + t.Name() + "$"}, Separator: "--"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	argv := plan.Argv()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), plan.Env()...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Args [][]byte
		Key  string
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var args []string
	for _, a := range got.Args {
		args = append(args, string(a))
	}
	if want := append(nasty, "--n=-x=1"); !slices.Equal(args, want) || got.Key != "a\n'b" {
		t.Errorf("got %q and %q, want %q", args, got.Key, want)
	}
}

// echo writes the arguments after "--" and the variable KEY.
func echo() {
	var args [][]byte
	for _, a := range os.Args[slices.Index(os.Args, "--")+1:] {
		args = append(args, []byte(a))
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"Args": args, "Key": os.Getenv("KEY")})
}
