package launch_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// runtime returns runtimeArguments: words are positional, and "--flag value" is a named argument
// unless there is no space.
func runtime(t testing.TB, words ...string) string {
	t.Helper()
	var list []map[string]string
	for _, w := range words {
		name, value, named := strings.Cut(w, " ")
		if named {
			list = append(list, map[string]string{"type": "named", "name": name, "value": value})
		} else {
			list = append(list, map[string]string{"type": "positional", "value": w})
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return `"runtimeArguments":` + string(data)
}

const (
	good   = `"registryType":"npm","identifier":"good","version":"1.1.2",`
	wheel  = `"registryType":"pypi","identifier":"good-tool","version":"1.1.2",`
	image  = `"registryType":"oci","identifier":"images.example/e/w:1.0.0",`
	nuget  = `"registryType":"nuget","identifier":"E.W","version":"1.0.0",`
	crates = `"registryType":"cargo","identifier":"e-w","version":"1.0.0",`
)

// matches reports whether a command is the wanted one or, for "fault: ", a fault has all the wanted words.
func matches(got, want string) bool {
	words, fault := strings.CutPrefix(want, "fault: ")
	if !fault || !strings.HasPrefix(got, "fault: ") {
		return got == want
	}
	return !slices.ContainsFunc(strings.Fields(words), func(word string) bool { return !strings.Contains(got, word) })
}

// runtimeCase is a package with runtimeArguments, and its command or "fault: " and words of the first fault.
type runtimeCase struct {
	pack  string
	words []string
	want  string
}

// TestRuntimeArguments checks where the package stands among the publisher's arguments, and what
// the launcher would run otherwise.
func TestRuntimeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(nodeCases(), pythonCases(), containerCases(), otherCases()) {
		p := packed(t, c.pack+runtime(t, c.words...))
		if got := command(launch.ResolvePackage(p, nil, nil)); !matches(got, c.want) {
			t.Errorf("%s %q\ngot  %s\nwant %s", p.Identifier, c.words, got, c.want)
		}
	}
}

func nodeCases() []runtimeCase {
	return []runtimeCase{
		{good, []string{"--yes", "good@1.1.2", "other-bin"}, "npx --yes good@1.1.2 other-bin"},
		{good, []string{"-y", "good@latest"}, "npx -y good@1.1.2"},
		{good, []string{"-y good@latest"}, "npx -y good@1.1.2"},
		{good, []string{"npx", "-y", "good"}, "npx -y good@1.1.2"},
		{good, []string{"--yes true"}, "npx --yes good@1.1.2"},
		{good, []string{"--yes=true"}, "npx --yes good@1.1.2"},
		{good, []string{"-y false"}, "npx good@1.1.2"},
		{good, []string{"-y maybe"}, "fault: -y no value"},
		{good, []string{"mcp"}, "npx -y good@1.1.2 mcp"},
		{good, []string{"mcp", "--x", "y"}, "npx -y good@1.1.2 mcp --x y"},
		{good, []string{"evil@1.0.0"}, "fault: run evil@1.0.0"},
		{good, []string{"@evil/x"}, "fault: run @evil/x"},
		{good, []string{"goodness@1.1.2"}, "fault: run goodness@1.1.2"},
		{good, []string{"./server.js"}, "fault: run ./server.js"},
		{good, []string{"run", "-i true", "--rm true", "ghcr.io/x/y", "start"}, "fault: run run"},
		{good, []string{"--", "good"}, "npx -y good@1.1.2"},
		{good, []string{"-p good", "other-bin", "--stdio"}, "npx -y -p good@1.1.2 other-bin --stdio"},
		{good, []string{"--package=good@latest", "other-bin"}, "npx -y --package good@1.1.2 other-bin"},
		{good, []string{"-p good"}, "npx -y good@1.1.2"},
		{good, []string{"-p evil", "good"}, "fault: instead evil"},
		{good, []string{"--package", "evil", "good"}, "fault: instead evil"},
		{good, []string{"-package=evil", "good"}, "fault: instead evil"},
		{good, []string{"--packag=evil"}, "fault: --packag --package"},
		{good, []string{"-p good", "-c mcp --stdio"}, "npx -y -p good@1.1.2 -c mcp --stdio"},
		{good, []string{"-c mcp --stdio"}, "fault: --call"},
		{good, []string{"--what", "good"}, "npx -y good@1.1.2 --what"},
		{good, []string{"--what x"}, "npx -y good@1.1.2 --what x"},
		{good, []string{"--what"}, "npx -y good@1.1.2 --what"},
		{good, []string{"--read-only true", "--what x"}, "npx -y good@1.1.2 --read-only --what x"},
		{good, []string{"--read-only true"}, "npx -y good@1.1.2 --read-only"},
		{good, []string{"--name x", "--before y"}, "npx -y --before y good@1.1.2 --name x"},
		{good, []string{"--what=x"}, "npx -y good@1.1.2 --what=x"},
		{good, []string{"--what", "-q"}, "npx -y -q good@1.1.2 --what"},
		{good, []string{"--no-fund"}, "npx -y --no-fund -- good@1.1.2"},
		{good, []string{"--registry"}, "fault: --registry needs value"},
		{good, []string{"--version"}, "fault: --version not run"},
		{good + `"runtimeHint":"bunx",`, []string{"--bun", "good", "x"}, "bunx --bun good@1.1.2 x"},
		{good + `"runtimeHint":"pnpm",`, []string{"dlx", "--package good", "cmd"}, "pnpm dlx --package good@1.1.2 cmd"},
		{good + `"runtimeHint":"pnpm",`, []string{"run"}, "fault: run run"},
	}
}

func pythonCases() []runtimeCase {
	return []runtimeCase{
		{wheel, []string{"good_tool==1.0.0", "serve"}, "uvx --from good-tool==1.1.2 good-tool serve"},
		{wheel, []string{"good-tool[cli]@latest"}, "uvx --from good-tool[cli]==1.1.2 good-tool"},
		{wheel, []string{"--from Good.Tool", "entry", "--log_level", "x"}, "uvx --from good-tool==1.1.2 entry --log_level x"},
		{wheel, []string{"--from", "good-tool"}, "uvx --from good-tool==1.1.2 good-tool"},
		{wheel, []string{"--from evil", "good-tool"}, "fault: instead evil"},
		{wheel, []string{"--from git+https://e.com/x", "good-tool"}, "fault: instead git+https://e.com/x"},
		{wheel, []string{"--fro=evil"}, "fault: --fro --from"},
		{wheel, []string{"--with extra", "good-tool"}, "uvx --with extra --from good-tool==1.1.2 good-tool"},
		{wheel, []string{"-p 3.13", "start-mcp-server"}, "uvx -p 3.13 --from good-tool==1.1.2 good-tool start-mcp-server"},
		{wheel, []string{"-qp3.13"}, "uvx -qp3.13 --from good-tool==1.1.2 good-tool"},
		{wheel, []string{"-m", "good_tool.server"}, "fault: -m known"},
		{wheel + `"runtimeHint":"uvx",`, []string{"--from good-tool", "./x.sh"}, "fault: ./x.sh command"},
		{wheel + `"runtimeHint":"pipx",`, []string{"run", "--spec good-tool", "entry"}, "pipx run --spec good-tool==1.1.2 entry"},
		{wheel + `"runtimeHint":"pipx",`, []string{"--spec evil", "entry"}, "fault: instead evil"},
		{wheel + `"runtimeHint":"uv",`, []string{"tool", "run", "good-tool"}, "uv tool run --from good-tool==1.1.2 good-tool"},
		{wheel + `"runtimeHint":"uv",`, []string{"run", "--with good-tool", "entry"}, "uv run --with good-tool==1.1.2 entry"},
		{wheel + `"runtimeHint":"uv",`, []string{"run", "--with evil", "entry"}, "fault: run entry"},
		{wheel + `"runtimeHint":"uv",`, []string{"run", "server.py"}, "fault: run server.py"},
		{wheel + `"runtimeHint":"python",`, []string{"-m", "good_tool"}, "uvx --from good-tool==1.1.2 good-tool"},
	}
}

func containerCases() []runtimeCase {
	return []runtimeCase{
		{image, []string{"run", "-i true", "--rm true", "-e X_Y=1", "images.example/e/w"}, "docker run -i --rm -e X_Y=1 images.example/e/w:1.0.0"},
		{image, []string{"-it", "images.example/e/w:0.9", "serve"}, "docker run --rm -it images.example/e/w:1.0.0 serve"},
		{image, []string{"--rm=false", "-i=true"}, "docker run --rm=false -i images.example/e/w:1.0.0"},
		{image, []string{"-ie", "X_Y=1", "evil/image"}, "fault: run evil/image"},
		{image, []string{"-itv", "/a:/b"}, "docker run --rm -itv /a:/b images.example/e/w:1.0.0"},
		{image, []string{"-e", "--rm"}, "fault: -e needs value"},
		{image, []string{"alpine"}, "fault: run alpine"},
		{image, []string{"e/w"}, "fault: run e/w"},
		{image, []string{"--what", "x"}, "fault: --what known"},
		{image, []string{"--what", "-e", "X"}, "fault: --what known"},
		{image, []string{"--", "images.example/e/w"}, "docker run -i --rm images.example/e/w:1.0.0"},
		{`"registryType":"oci","identifier":"e/w:1",`, []string{"docker.io/e/w"}, "docker run -i --rm e/w:1"},
		{`"registryType":"oci","identifier":"w:1",`, []string{"library/w"}, "docker run -i --rm w:1"},
		{`"registryType":"oci","identifier":"e/w",`, []string{"e/w:2"}, "docker run -i --rm e/w:2"},
		{image + `"runtimeHint":"podman",`, []string{"--rootfs", "/x"}, "fault: --rootfs not run"},
	}
}

func otherCases() []runtimeCase {
	return []runtimeCase{
		{nuget, []string{"e.w@0.9", "--yes", "mcp"}, "dnx --yes E.W@1.0.0 -- mcp"},
		{nuget, []string{"start"}, "dnx E.W@1.0.0 --yes -- start"},
		{nuget, []string{"--what=x"}, "fault: --what known"},
		{nuget, []string{"--version 2.0.0"}, "fault: --version another version"},
		{nuget, []string{"--version:1.0.0"}, "dnx E.W@1.0.0 --yes"},
		{nuget + `"runtimeHint":"dotnet",`, []string{"tool", "exec", "Evil.W"}, "fault: run Evil.W"},
		{crates, []string{"e-w", "--features x"}, "cargo install --features x e-w --version =1.0.0 --locked; e-w"},
		{crates, []string{"--locked"}, "cargo install e-w --version =1.0.0 --locked; e-w"},
		{crates, []string{"e-w", "evil"}, "fault: further words"},
		{crates, []string{"--git https://e.com/x"}, "fault: --git not run"},
	}
}

// command returns the command with what is run before, or the first fault.
func command(plan *launch.Plan, err error) string {
	var faults launch.Faults
	if errors.As(err, &faults) {
		text := "fault: " + faults[0].Message
		if faults[0].Suggestion != "" {
			text += " (" + faults[0].Suggestion + ")"
		}
		return text
	}
	var lines []string
	for _, c := range append(plan.Setup, plan.Command) {
		lines = append(lines, strings.Join(c.Argv(), " "))
	}
	return strings.Join(lines, "; ")
}

// TestFlagsWithoutValues checks named arguments that have no value in the manifest.
func TestFlagsWithoutValues(t *testing.T) {
	t.Parallel()
	const flags = `"runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"-i"},{"type":"named","name":"--rm"},{"type":"named","name":"-e"},
		{"type":"positional","value":"TOKEN","valueHint":"env_var_name"},{"type":"positional","value":"images.example/e/w"}]`
	for _, c := range []struct {
		text  string
		given launch.Values
		want  string
	}{
		{image + flags, nil, "docker run -i --rm -e TOKEN images.example/e/w:1.0.0"},
		{image + flags, values("--rm", "false"), "docker run -i --rm=false -e TOKEN images.example/e/w:1.0.0"},
		{image + flags, values("--rm", "evil/image"), "fault: --rm neither"},
		{image + `"runtimeArguments":[{"type":"named","name":"-e"},{"type":"positional","value":"images.example/e/w"}]`, nil, "docker run -i --rm images.example/e/w:1.0.0"},
		{image + `"runtimeArguments":[{"type":"named","name":"-t","format":"boolean"}]`, nil, "docker run -i --rm images.example/e/w:1.0.0"},
		{image + `"runtimeArguments":[{"type":"named","name":"-t","format":"boolean"}]`, values("-t", "true"), "docker run -i --rm -t images.example/e/w:1.0.0"},
		{image + `"runtimeArguments":[{"type":"positional","valueHint":"image"}]`, values("image", "evil"), "fault: run argument"},
		{good + `"runtimeArguments":[{"type":"positional","valueHint":"x"}]`, values("x", "evil@1"), "fault: run argument"},
		{good + `"runtimeArguments":[{"type":"positional","valueHint":"x"}]`, values("x", "evil"), `npx -y good@1.1.2 evil`},
		{good + `"runtimeArguments":[{"type":"positional","value":"--call={x}","variables":{"x":{}}},{"type":"positional","value":"--package=good"}]`, values("x", "evil"), "fault: --call shell"},
		{good + `"runtimeArguments":[{"type":"named","name":"-y"}]`, nil, "npx -y good@1.1.2"},
	} {
		if got := command(launch.ResolvePackage(packed(t, c.text), c.given, nil)); !matches(got, c.want) {
			t.Errorf("%s with %q\ngot  %s\nwant %s", c.text, c.given, got, c.want)
		}
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		good + runtime(t, "--what=x"),
		good + runtime(t, "mcp"),
		good + `"runtimeHint":"node",` + runtime(t, "--inspect"),
	} {
		p := packed(t, text)
		plan, err := launch.ResolvePackage(p, nil, nil)
		if err != nil || len(plan.Notices) == 0 || plan.Notices[len(plan.Notices)-1].Severity != launch.SeverityWarning {
			t.Errorf("%s: got %v and %v, want a warning", text, plan, err)
		}
		if _, err := launch.ResolvePackage(p, nil, &launch.Options{Strict: true}); err == nil {
			t.Errorf("%s: there is no fault", text)
		}
	}
}

// TestWideOptions checks the severity of options that widen what a server may do.
func TestWideOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pack, word string
		want       launch.Severity // "" is no notice
	}{
		{image, "--privileged", "danger"},
		{image, "-ti", ""},
		{image, "--name x", ""},
		{image, "-v /:/host", "danger"},
		{image, "--volume=/:/host", "danger"},
		{image, "-v /var/run/docker.sock:/s", "danger"},
		{image, "--mount type=bind,src=/etc,dst=/x", "danger"},
		{image, "-v ~/.ssh:/ssh:ro", "danger"},
		{image, `-v C:\:/host`, "danger"},
		{image, `-v C:\data\x:/x`, "warning"},
		{image, `-v C:\data\x:/x:ro`, "info"},
		{image, "-v /tmp/data:/data", "warning"},
		{image, "-v /tmp/../:/data", "danger"},
		{image, "--mount type=bind,source=/tmp/x,target=/x,readonly", "info"},
		{image, "-v data:/data", ""},
		{image, "--network host", "danger"},
		{image, "--net=host", "danger"},
		{image, "--network none", ""},
		{image, "--pid host", "danger"},
		{image, "--ipc container:x", "warning"},
		{image, "--cap-add ALL", "danger"},
		{image, "--cap-drop ALL", ""},
		{image, "--device /dev/sda", "danger"},
		{image, "--security-opt seccomp=unconfined", "danger"},
		{image, "--security-opt no-new-privileges", ""},
		{image, "-u root", "warning"},
		{image, "-u 1000", ""},
		{image, "-p 8080:8080", "warning"},
		{image, "-p 127.0.0.1:8080:8080", ""},
		{image, "-e AWS_SECRET_ACCESS_KEY", "warning"},
		{image, "-e X_Y=1", ""},
		{image, "--entrypoint sh", "warning"},
		{image, "--env-file /x", "warning"},
		{good, "--registry http://e.com", "danger"},
		{good, "--registry=https://e.com", "warning"},
		{good, "--script-shell /x", "danger"},
		{good, "--node-options --require=x", "fault"},
		{good, "--node-options=--require=x", "danger"},
		{good, "--loglevel silent", ""},
		{wheel, "--index-url http://e.com/simple", "danger"},
		{wheel, "--extra-index-url https://e.com/simple", "warning"},
		{wheel, "--with evil", "warning"},
		{wheel, "--with-editable /x", "danger"},
		{wheel, "-p /tmp/python", "danger"},
		{wheel, "-p 3.13", ""},
		{nuget, "--add-source http://e.com", "danger"},
		{crates, "--config x=1", "danger"},
	} {
		plan, err := launch.ResolvePackage(packed(t, c.pack+runtime(t, c.word)), nil, nil)
		got := launch.Severity("")
		if err != nil {
			got = "fault"
		} else if len(plan.Notices) > 0 {
			got = plan.Notices[0].Severity
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q: %v", c.word, got, c.want, err)
		}
	}
}

// TestVariablesThatSteer checks which environment variables have a notice, and which reach the
// launcher of a container.
func TestVariablesThatSteer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]launch.Severity{
		"WEATHER_API_KEY": "", "GITHUB_TOKEN": "", "PORT": "", "NODE_ENV": "", "DOTNET_NOLOGO": "", "PYTHONUNBUFFERED": "", "x-api-key": "", "_NT_SYMBOL_PATH": "", "HTTP_PORT": "", "UI5_LOG": "",
		"PATH": "danger", "LD_PRELOAD": "danger", "dyld_insert_libraries": "danger", "DOCKER_HOST": "danger", "CONTAINERS_CONF": "danger", "BASH_ENV": "danger", "NODE_OPTIONS": "danger",
		"npm_config_registry": "danger", "NPM_CONFIG_script_shell": "danger", "UV_INDEX_URL": "danger", "PIP_EXTRA_INDEX_URL": "danger", "PYTHONPATH": "danger", "RUSTC_WRAPPER": "danger",
		"https_proxy": "danger", "Path": "danger", "ComSpec": "danger", "BUN_CONFIG_REGISTRY": "danger", "CARGO_HOME": "danger", "GIT_SSH_COMMAND": "danger",
		"NODE_DEBUG": "warning", "PYTHONNEW": "warning", "GIT_DIR": "warning", "DOTNET_ROOT": "warning", "RUSTUP_HOME": "warning", "_JAVA_SR_X": "warning", "VIRTUAL_ENV": "warning", "LC_NEW": "warning",
		"DISPLAY": "info", "SOMETHING": "info", "A B_C": "info",
	} {
		p := packed(t, good+`"environmentVariables":[{"name":"`+name+`","value":"v"}]`)
		plan, err := launch.ResolvePackage(p, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := launch.Severity("")
		if len(plan.Notices) > 0 {
			got = plan.Notices[0].Severity
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		p.RegistryType = "oci"
		if plan, err = launch.ResolvePackage(p, nil, nil); err != nil {
			t.Fatal(err)
		}
		if reaches := len(plan.Environment) > 0; reaches != (want == "") {
			t.Errorf("%s: reaches docker: %v", name, reaches)
		}
	}
}

// TestSeparators checks values of tokens in mounts and ports.
func TestSeparators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argument, value string
		ok              bool
	}{
		{"--mount type=bind,src={x},dst=/y", "/a/b c", true},
		{"--mount type=bind,src={x},dst=/y", "/a,dst=/z", false},
		{"--mount type=bind,src={x},dst=/y", `/a"b`, false},
		{"--mount type=bind,src={x},dst=/y", "/a\nb", false},
		{"--mount type=bind,src={x},dst=/y", `C:\a`, true},
		{"-v {x}:/y", "/a", true},
		{"-v {x}:/y", "/:/host", false},
		{"-v {x}:/y", `C:\a`, true},
		{"-v {x}:/y", `C:/a`, true},
		{"-v {x}:/y", `C:\a:/z`, false},
		{"-v {x}:/y:ro,z", "/a,b", false},
		{"-v {x}", "/a:/y", true},
		{"-p 127.0.0.1:{x}:80", "8080", true},
		{"-p 127.0.0.1:{x}:80", "80:90", false},
		{"--user {x}:1", "0:0", false},
		{"-e X_Y=a:{x}", "b:c,d", true},
	} {
		text := strings.Replace(runtime(t, c.argument), "}]", `,"variables":{"x":{}}}]`, 1)
		if strings.Contains(c.argument, "{x}") && !strings.Contains(text, "variables") {
			t.Fatal(text)
		}
		_, err := launch.ResolvePackage(packed(t, image+text), values("x", c.value), nil)
		if (err == nil) != c.ok || err != nil && (!strings.Contains(err.Error(), "separates the fields") || strings.Contains(err.Error(), c.value)) {
			t.Errorf("%s with %q: got %v", c.argument, c.value, err)
		}
	}
}

func TestDefaultRegistryIsNoNotice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, base string
		notices    int
	}{
		{"npm", "https://registry.npmjs.org", 0},
		{"npm", "https://registry.npmjs.org/", 0},
		{"npm", "http://registry.npmjs.org", 1},
		{"npm", "https://pypi.org", 1},
		{"npm", "https://e.com", 1},
		{"pypi", "https://pypi.org", 0},
		{"pypi", "https://PyPI.org/simple/", 0},
		{"nuget", "https://api.nuget.org/v3/index.json", 0},
		{"nuget", "https://api.nuget.org", 0},
		{"cargo", "https://crates.io", 0},
		{"oci", "https://docker.io", 0},
		{"oci", "https://ghcr.io", 0},
	} {
		plan, err := launch.ResolvePackage(packed(t, `"registryType":"`+c.kind+`","identifier":"w","version":"1.0.0","registryBaseUrl":"`+c.base+`"`), nil, nil)
		if err != nil || len(plan.Notices) != c.notices {
			t.Errorf("%s at %s: got %v, %v", c.kind, c.base, plan.Notices, err)
		}
	}
}

// TestUndeclaredTokens checks that a token of a header is an input, and is never sent.
func TestUndeclaredTokens(t *testing.T) {
	t.Parallel()
	remote := &manifest.Remote{Type: "sse", URL: "https://e.com", Headers: []manifest.KeyValueInput{{Name: "Authorization", Input: manifest.Input{Value: new("Bearer {api_key}")}}}}
	form := launch.RemoteForm(remote)
	if len(form.Prompts) != 1 || form.Prompts[0].Key != "api_key" || !form.Prompts[0].Secret || !form.Prompts[0].Required {
		t.Fatalf("got %+v", form)
	}
	_, err := launch.ResolveRemote(remote, nil, nil)
	var faults launch.Faults
	if !errors.As(err, &faults) || strings.Join(faults.Missing(), " ") != "api_key" {
		t.Errorf("got %v", err)
	}
	e, err := launch.ResolveRemote(remote, values("api_key", "hunter2"), nil)
	if err != nil || e.Headers[0].Value.Reveal() != "Bearer hunter2" || !e.Headers[0].Value.IsSecret() {
		t.Errorf("got %v, %v", e, err)
	}
	remote.Headers[0].IsRequired = new(false)
	if e, err := launch.ResolveRemote(remote, nil, &launch.Options{OmitUnfilled: true}); err != nil || len(e.Headers) != 0 {
		t.Errorf("got %v, %v", e, err)
	}
	remote.Headers[0].Value, remote.Headers[0].Default = nil, new("Bearer {api_key}")
	if e, err := launch.ResolveRemote(remote, nil, nil); err != nil || len(e.Headers) != 0 {
		t.Errorf("got %v, %v", e, err)
	}
	remote.Headers[0].Default = nil
	for _, placeholder := range []string{"Bearer ${API_KEY}", "Bearer {{api_key}}"} {
		remote.Headers[0].Value = &placeholder
		if _, err := launch.ResolveRemote(remote, values("api_key", "x"), nil); err == nil {
			t.Errorf("%s is accepted", placeholder)
		}
	}
	p := packed(t, good+`"transport":{"type":"sse","url":"http://localhost:1","headers":[{"name":"A","value":"{t}"}]}`)
	if _, err := launch.ResolvePackage(p, nil, nil); err == nil || !strings.Contains(err.Error(), `"t" is required`) {
		t.Errorf("got %v", err)
	}
}

// TestOptionsOfTools checks that the options that tools on this machine list are known, and that
// each takes a value as the tool says: the package after it is found.
func TestOptionsOfTools(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^\s+(?:(-\w), )?(--[\w-]+)(?:\.\.\.)?(?: (\[?<.*?>|[\w-]+))?(?:\s{2,}|$)`)
	for _, tool := range []struct{ program, subcommand, pack, operand string }{
		{"docker", "run", image, "images.example/e/w"},
		{"cargo", "install", crates, "e-w"},
	} {
		out, err := exec.Command(tool.program, tool.subcommand, "--help").Output()
		if err != nil {
			t.Logf("SKIPPED: %s: %v", tool.program, err)
			continue
		}
		options := line.FindAllStringSubmatch(string(out), -1)
		if len(options) < 25 {
			t.Errorf("%s lists only %d options", tool.program, len(options))
		}
		for _, o := range options {
			for _, name := range o[1:3] {
				if name == "" {
					continue
				}
				words := []string{name, tool.operand}
				if o[3] != "" {
					words = []string{name + " 1", tool.operand}
				}
				plan, err := launch.ResolvePackage(packed(t, tool.pack+runtime(t, words...)), nil, nil)
				got := command(plan, err)
				if err == nil && len(plan.Setup)+strings.Count(got, " images.example/e/w:1.0.0") != 1 || err != nil && !strings.Contains(got, "does not run the package") && !strings.Contains(got, "another version") {
					t.Errorf("%s %q: %s", tool.program, words, got)
				}
			}
		}
	}
}

// TestRealNpx runs plans with npx, which finds the package in the current directory.
func TestRealNpx(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts npx several times")
	}
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Skip("there is no npx on this machine")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json":                    `{"name":"x","version":"1.0.0","dependencies":{"good":"1.1.2"}}`,
		"node_modules/good/package.json":  `{"name":"good","version":"1.1.2","bin":{"good":"run.js","second":"run.js"}}`,
		"node_modules/good/run.js":        "#!/usr/bin/env node\nconsole.log(require('path').basename(process.argv[1]), ...process.argv.slice(2))\n",
		"node_modules/other/package.json": `{"name":"other","version":"1.0.0","bin":{"other":"run.js"}}`,
		"node_modules/other/run.js":       "#!/usr/bin/env node\nconsole.log('OTHER')\n",
		"home/.npmrc":                     "offline=true\nupdate-notifier=false\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for command, of := range map[string]string{"good": "good", "second": "good", "other": "other"} {
		if err := os.Symlink(filepath.Join("..", of, "run.js"), filepath.Join(bin, command)); err != nil {
			t.Skip(err)
		}
	}
	for _, words := range [][]string{{"--no-fund", "good@1.1.2", "other"}, {"-p good", "second", "other"}} {
		plan, err := launch.ResolvePackage(packed(t, good+runtime(t, words...)), nil, nil)
		if err != nil {
			t.Logf("%q: %v", words, err)
			continue
		}
		cmd := exec.Command(npx, plan.Argv()[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "npm_config_offline=true", "npm_config_cache="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), " other") || strings.Contains(string(out), "OTHER") {
			t.Errorf("%q: %v\n%s", plan.Argv(), err, out)
		}
	}
}
