package launch_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest/launch"
)

// TestWindows checks the command for Windows: as arguments, and as one line.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pack, value string
		argv, line  string // "" is a fault
	}{
		{good, "plain", `cmd|/c|npx|-y|good@1.1.2|plain`, `cmd /d /v:off /s /c "npx -y good@1.1.2 plain"`},
		{good, "a b", `cmd|/c|npx|-y|good@1.1.2|a b`, `cmd /d /v:off /s /c "npx -y good@1.1.2 "a b""`},
		{good, `C:\a b\`, `cmd|/c|npx|-y|good@1.1.2|C:\a b\`, `cmd /d /v:off /s /c "npx -y good@1.1.2 "C:\a b\\""`},
		{good, "a&b", "", `cmd /d /v:off /s /c "npx -y good@1.1.2 "a&b""`},
		{good, "a & b", `cmd|/c|npx|-y|good@1.1.2|a & b`, `cmd /d /v:off /s /c "npx -y good@1.1.2 "a & b""`},
		{good, "a|b", "", `cmd /d /v:off /s /c "npx -y good@1.1.2 "a|b""`},
		{good, "a^b", "", `cmd /d /v:off /s /c "npx -y good@1.1.2 "a^b""`},
		{good, "a>b", "", `cmd /d /v:off /s /c "npx -y good@1.1.2 "a>b""`},
		{good, "a<b", "", `cmd /d /v:off /s /c "npx -y good@1.1.2 "a<b""`},
		{good, "%PATH%", "", ""},
		{good, "a %PATH% b", "", ""},
		{good, "a!b", "", ""},
		{good, `a"b`, "", ""},
		{good, "a\nb", "", ""},
		{good + `"runtimeHint":"pnpm",`, "x", `cmd|/c|pnpm|dlx|good@1.1.2|x`, `cmd /d /v:off /s /c "pnpm dlx good@1.1.2 x"`},
		{good + `"runtimeHint":"bunx",`, "a&b", `bunx|good@1.1.2|a&b`, `bunx good@1.1.2 "a&b"`},
		{nuget, "x", `cmd|/c|dnx|E.W@1.0.0|--yes|--|x`, `cmd /d /v:off /s /c "dnx E.W@1.0.0 --yes -- x"`},
		{image, `%PATH% "q" \"`, `docker|run|-i|--rm|images.example/e/w:1.0.0|%PATH% "q" \"`, `docker run -i --rm images.example/e/w:1.0.0 "%PATH% \"q\" \\\""`},
		{wheel, `a\\b c\`, `uvx|--from|good-tool==1.1.2|good-tool|a\\b c\`, `uvx --from good-tool==1.1.2 good-tool "a\\b c\\"`},
	} {
		p := packed(t, c.pack+`"packageArguments":[{"type":"positional","valueHint":"v"}]`)
		plan, err := launch.ResolvePackage(p, values("v", c.value), nil)
		if err != nil {
			t.Fatal(err)
		}
		argv, err := plan.ArgvFor("windows")
		if strings.Join(argv, "|") != c.argv || (err != nil) != (c.argv == "") {
			t.Errorf("%q: got %q, %v\nwant %s", c.value, argv, err, c.argv)
		}
		line, err := plan.Command.WindowsCommandLine()
		if line != c.line || (err != nil) != (c.line == "") {
			t.Errorf("%q: got %s, %v\nwant %s", c.value, line, err, c.line)
		}
		if err != nil && strings.Contains(err.Error(), c.value) {
			t.Errorf("the error has the value: %v", err)
		}
		if argv, err := plan.ArgvFor("linux"); err != nil || strings.Join(argv, "|") != strings.Join(plan.Argv(), "|") {
			t.Errorf("got %q, %v", argv, err)
		}
	}
}
