package launch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// values returns Values of name, value, name, value.
func values(pairs ...string) launch.Values {
	v := launch.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v[pairs[i]] = append(v[pairs[i]], pairs[i+1])
	}
	return v
}

// packed reads a package; stdio is its transport unless the text has another.
func packed(t testing.TB, text string) *manifest.Package {
	t.Helper()
	if !strings.Contains(text, `"transport"`) {
		text = `"transport":{"type":"stdio"},` + text
	}
	var p manifest.Package
	if err := json.Unmarshal([]byte("{"+text+"}"), &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &p
}

const npm = `"registryType":"npm","identifier":"w","version":"1.0.0",`

// TestCommandLines checks the command of each registryType, and the effect of the publisher's
// arguments.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, text, want string }{
		{"npm", `"registryType":"npm","identifier":"@e/w","version":"1.4.2"`, "npx -y @e/w@1.4.2"},
		{"no version", `"registryType":"npm","identifier":"w"`, "npx -y w"},
		{"-y is not doubled", npm + `"runtimeArguments":[{"type":"positional","value":"-y"}]`, "npx -y w@1.0.0"},
		{"nor as --yes", npm + `"runtimeArguments":[{"type":"named","name":"--yes","value":""}]`, "npx --yes w@1.0.0"},
		{"a hint of the same kind is used", npm + `"runtimeHint":"bun"`, "bun x w@1.0.0"},
		{"a hint that runs no packages is not", npm + `"runtimeHint":"node"`, "npx -y w@1.0.0"},
		{"nor an unknown one", npm + `"runtimeHint":"rm -rf /"`, "npx -y w@1.0.0"},
		{"pnpm", npm + `"runtimeHint":"pnpm","runtimeArguments":[{"type":"positional","value":"dlx"}]`, "pnpm dlx w@1.0.0"},
		{"pypi", `"registryType":"pypi","identifier":"w","version":"0.2.0a1"`, "uvx --from w==0.2.0a1 w"},
		{"case of the label", `"registryType":"PyPI","identifier":"w","version":"1"`, "uvx --from w==1 w"},
		{"extras are no command", `"registryType":"pypi","identifier":"w[cli,x]","version":"1"`, "uvx --from w[cli,x]==1 w"},
		{"pipx", `"registryType":"pypi","identifier":"w","version":"1","runtimeHint":"pipx"`, "pipx run --spec w==1 w"},
		{"uv", `"registryType":"pypi","identifier":"w","version":"1","runtimeHint":"uv"`, "uv tool run --from w==1 w"},
		{"the package is not named twice", `"registryType":"pypi","identifier":"w","version":"1","runtimeArguments":[{"type":"positional","value":"w"}]`, "uvx --from w==1 w"},
		{"the same, and the package again", `"registryType":"pypi","identifier":"w","version":"1","runtimeArguments":[{"type":"positional","value":"--from"},{"type":"positional","value":"w==1"},{"type":"positional","value":"w"}]`, "uvx --from w==1 w"},
		{"oci", `"registryType":"oci","identifier":"images.example/e/w:1.0.0"`, "docker run -i --rm images.example/e/w:1.0.0"},
		{"a version is a tag", `"registryType":"oci","identifier":"images.example/e/w","version":"1.0.0"`, "docker run -i --rm images.example/e/w:1.0.0"},
		{"or a digest", `"registryType":"oci","identifier":"e/w","version":"sha256:` + strings.Repeat("0a", 32) + `"`, "docker run -i --rm e/w@sha256:" + strings.Repeat("0a", 32)},
		{"a port is no tag", `"registryType":"oci","identifier":"localhost:5000/w","version":"1"`, "docker run -i --rm localhost:5000/w:1"},
		{"the registry is a part of the name", `"registryType":"oci","registryBaseUrl":"https://images.example/","identifier":"e/w","version":"1"`, "docker run -i --rm images.example/e/w:1"},
		{"but not twice", `"registryType":"oci","registryBaseUrl":"https://images.example","identifier":"other.example/e/w","version":"1"`, "docker run -i --rm other.example/e/w:1"},
		{"podman", `"registryType":"oci","identifier":"e/w:1","runtimeHint":"podman"`, "podman run -i --rm e/w:1"},
		{"run -it --rm is not doubled", `"registryType":"oci","identifier":"e/w:1","runtimeArguments":[{"type":"positional","value":"run"},{"type":"positional","value":"-it"},{"type":"named","name":"--rm","value":""}]`, "docker run -it --rm e/w:1"},
		{"variables reach a container by name", `"registryType":"oci","identifier":"e/w:1","environmentVariables":[{"name":"W_LOG","value":"info"},{"name":"KEY","isSecret":true,"default":"hunter2"}]`, "docker run -i --rm -e W_LOG -e KEY e/w:1"},
		{"unless they are given", `"registryType":"oci","identifier":"e/w:1","runtimeArguments":[{"type":"named","name":"-e","value":"LOG=debug"}],"environmentVariables":[{"name":"LOG","value":"info"}]`, "docker run -i --rm -e LOG=debug e/w:1"},
		{"a secret is taken off the command line", `"registryType":"oci","identifier":"e/w:1","runtimeArguments":[{"type":"named","name":"-e","value":"KEY={k}","variables":{"k":{"isSecret":true,"default":"hunter2"}}}]`, "docker run -i --rm -e KEY e/w:1"},
		{"in one word too", `"registryType":"oci","identifier":"e/w:1","runtimeArguments":[{"type":"positional","value":"-teKEY={k}","variables":{"k":{"isSecret":true,"default":"hunter2"}}}]`, "docker run -i --rm -t -e KEY e/w:1"},
		{"what steers the launcher is not in its environment", `"registryType":"oci","identifier":"e/w:1","environmentVariables":[{"name":"DOCKER_HOST","value":"tcp://x"}]`, "docker run -i --rm -e DOCKER_HOST=tcp://x e/w:1"},
		{"even if it is secret", `"registryType":"oci","identifier":"e/w:1","environmentVariables":[{"name":"Docker_Host","value":"tcp://x","isSecret":true},{"name":"PIP_INDEX_URL","value":"x","isSecret":true}]`, "docker run -i --rm -e Docker_Host=tcp://x -e PIP_INDEX_URL e/w:1"},
		{"whoever sets it", `"registryType":"oci","identifier":"e/w:1","runtimeArguments":[{"type":"named","name":"-e","value":"DOCKER_HOST=x","isSecret":true},{"type":"named","name":"-e","value":"PIP_INDEX_URL=x","isSecret":true}]`, "docker run -i --rm -e DOCKER_HOST=x -e PIP_INDEX_URL e/w:1"},
		{"nor what podman takes its settings from", `"registryType":"oci","identifier":"e/w:1","runtimeHint":"podman","environmentVariables":[{"name":"CONTAINERS_CONF","value":"/x"},{"name":"XDG_CONFIG_HOME","value":"/x"}]`, "podman run -i --rm -e CONTAINERS_CONF=/x -e XDG_CONFIG_HOME=/x e/w:1"},
		{"the port of the url is published here alone", `"registryType":"oci","identifier":"e/w:1","transport":{"type":"sse","url":"http://localhost:8080/mcp"}`, "docker run -i --rm -p 127.0.0.1:8080:8080 e/w:1"},
		{"unless the publisher does", `"registryType":"oci","identifier":"e/w:1","transport":{"type":"sse","url":"http://localhost:8080/mcp"},"runtimeArguments":[{"type":"named","name":"-p","value":"9:8080"}]`, "docker run -i --rm -p 9:8080 e/w:1"},
		{"in one word too", `"registryType":"oci","identifier":"e/w:1","transport":{"type":"sse","url":"http://localhost:8080/mcp"},"runtimeArguments":[{"type":"positional","value":"-p9:8080"}]`, "docker run -i --rm -p9:8080 e/w:1"},
		{"nuget", `"registryType":"nuget","identifier":"E.W","version":"1.0.0"`, "dnx E.W@1.0.0 --yes"},
		{"-- only before arguments", `"registryType":"nuget","identifier":"E.W","version":"1.0.0","packageArguments":[{"type":"positional","value":"mcp"}]`, "dnx E.W@1.0.0 --yes -- mcp"},
		{"dotnet", `"registryType":"nuget","identifier":"E.W","version":"1.0.0","runtimeHint":"dotnet","runtimeArguments":[{"type":"positional","value":"-y"}]`, "dotnet tool exec -y E.W@1.0.0"},
		{"cargo", `"registryType":"cargo","identifier":"e-w","version":"1.0.0","packageArguments":[{"type":"named","name":"-p","value":"1"}]`, "e-w -p 1"},
		{"a fixed value is verbatim", npm + `"packageArguments":[{"type":"positional","value":"--stdio"},{"type":"positional","value":"a b; c"}]`, "npx -y w@1.0.0 --stdio a b; c"},
		{"a flag with an empty value stands alone", npm + `"packageArguments":[{"type":"named","name":"--stdio","value":""}]`, "npx -y w@1.0.0 --stdio"},
		{"a default is used", npm + `"packageArguments":[{"type":"named","name":"--port","default":"80","format":"number"}]`, "npx -y w@1.0.0 --port 80"},
		{"a placeholder is never a value", npm + `"packageArguments":[{"type":"named","name":"--port","placeholder":"80"},{"type":"positional","valueHint":"city","placeholder":"Rome"}]`, "npx -y w@1.0.0"},
		{"a hint is never a value", npm + `"packageArguments":[{"type":"positional","valueHint":"city"}]`, "npx -y w@1.0.0"},
		{"a value comes before a hint", npm + `"packageArguments":[{"type":"positional","valueHint":"city","value":"mcp"}]`, "npx -y w@1.0.0 mcp"},
		{"booleans are true and false", npm + `"packageArguments":[{"type":"named","name":"--ro","format":"boolean","default":"True"}]`, "npx -y w@1.0.0 --ro true"},
		{"numbers are decimal", npm + `"packageArguments":[{"type":"named","name":"--n","format":"number","default":"1.5e3"}]`, "npx -y w@1.0.0 --n 1500"},
		{"all occurrences, once", npm + `"packageArguments":[{"type":"positional","value":"{a}{b}{a}{c}","variables":{"a":{"value":"{b}"},"b":{"default":"{a}"}}}]`, "npx -y w@1.0.0 {b}{a}{b}{c}"},
		{"an empty default is left out", npm + `"packageArguments":[{"type":"named","name":"--x","default":""},{"type":"positional","valueHint":"y","default":""}]`, "npx -y w@1.0.0"},
	} {
		plan, err := launch.ResolvePackage(packed(t, c.text), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if got := strings.Join(plan.Argv(), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
	}
}

func TestCargoIsInstalledFirst(t *testing.T) {
	t.Parallel()
	plan, err := launch.ResolvePackage(packed(t, `"registryType":"cargo","identifier":"e-w","version":"1.0.0","runtimeArguments":[{"type":"named","name":"--root","value":"/r"}]`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Setup[0].String(), "cargo install --root /r e-w --version =1.0.0 --locked"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	plan, err := launch.ResolvePackage(packed(t, `"registryType":"mcpb","identifier":"https://e.com/w.mcpb","fileSha256":"`+sum+`","packageArguments":[{"type":"positional","value":"x"}]`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Command) != 0 || len(plan.Files) != 1 || plan.Files[0].SHA256 != sum || plan.Files[0].Origin != "/identifier" || plan.Arguments[0].Value.String() != "x" {
		t.Errorf("got %+v", plan)
	}
}

// TestGivenValues checks values from users.
func TestGivenValues(t *testing.T) {
	t.Parallel()
	const port = `"packageArguments":[{"type":"named","name":"--port","format":"number"}]`
	const city = `"packageArguments":[{"type":"positional","valueHint":"city"}]`
	for _, c := range []struct {
		text  string
		given launch.Values
		want  string // the arguments, or a part of the error
	}{
		{port, values("--port", "8080"), "--port|8080"},
		{port, values("/packageArguments/0", "1e2"), "--port|100"},
		{port, values("--port", "-5"), "--port=-5"},
		{port, values("--port", "0x10"), "decimal"},
		{port, values("--port", "1e9999"), "decimal"},
		{port, values("--port", "1", "--port", "2"), `"--port" takes one value, not 2`},
		{port, values("--prot", "1"), `did you mean "--port"?`},
		{port, values("--host", "1"), `unknown input "--host" (use --port)`},
		{port, values("--Port", "1"), `did you mean "--port"?`},
		{port, values("--port", "1", "/packageArguments/0", "1"), "pointer"},
		{`"packageArguments":[{"type":"named","name":"-n","format":"number"}]`, values("-n", "-5"), "-n|-5"},
		{`"packageArguments":[{"type":"named","name":"-n"}]`, values("-n", "-x"), "an option"},
		{`"packageArguments":[{"type":"named","name":"--n"}]`, values("--n", "--rm"), "--n=--rm"},
		{`"packageArguments":[{"type":"named","name":"--n","isSecret":true}]`, values("--n", "-x y"), "--n=-x y"},
		{city, values("city", "São Paulo; rm -rf ~ $(x) `y` \" '"), "São Paulo; rm -rf ~ $(x) `y` \" '"},
		{city, values("city", "{city}"), "{city}"},
		{city, values("city", "a\nb"), "a\nb"},
		{city, values("city", "--evil"), "begins with"},
		{city, values("city", "a\x00b"), "NUL"},
		{city, values("city", strings.Repeat("x", 200<<10)), "131071"},
		{city, values("city", ""), ""},
		{`"packageArguments":[{"type":"positional","valueHint":"city","isRequired":true}]`, values("city", ""), "required"},
		{`"packageArguments":[{"type":"positional","valueHint":"f","isRepeated":true}]`, values("f", "a", "f", "b c"), "a|b c"},
		{`"packageArguments":[{"type":"named","name":"-f","isRepeated":true}]`, values("-f", "a", "-f", "b"), "-f|a|-f|b"},
		{`"packageArguments":[{"type":"positional","value":"{x}","variables":{"x":{}}}]`, values("x", "-rf"), "begins with"},
		{`"packageArguments":[{"type":"positional","value":"--{x}","variables":{"x":{}}}]`, values("x", "-rf"), "---rf"},
		{`"packageArguments":[{"type":"positional","value":"{x}","variables":{"x":{"choices":["a","b"]}}}]`, values("x", "c"), `use "a" or "b"`},
		{`"packageArguments":[{"type":"positional","value":"v{x}","choices":["v1"],"variables":{"x":{}}}]`, values("x", "2"), "choices"},
		{`"packageArguments":[{"type":"positional","value":"{x}"}]`, values("x", "c"), "unknown"},
		{`"packageArguments":[{"type":"positional","value":"a","valueHint":"x"}]`, values("x", "c"), "unknown"},
		{`"packageArguments":[{"type":"named","name":"-e","valueHint":"x"},{"type":"named","name":"-e"}]`, values("-e", "c"), "/packageArguments/1"},
		{`"packageArguments":[{"type":"named","name":"--ro","format":"boolean"}]`, values("--ro", "yes"), "neither"},
		{`"packageArguments":[{"type":"named","name":"--ro","format":"boolean","choices":["True","False"]}]`, values("--ro", "True"), "--ro|true"},
		{`"packageArguments":[{"type":"named","name":"--n","format":"number","choices":["1e3"]}]`, values("--n", "1e3"), "--n|1000"},
		{`"packageArguments":[{"type":"named","name":"--n","format":"number","choices":["1e3"]}]`, values("--n", "5"), "choices"},
		{`"packageArguments":[{"type":"named","name":"--ro","format":"boolean","default":"maybe"}]`, nil, "/packageArguments/0/default"},
		{`"packageArguments":[{"type":"named","name":"--d","format":"filepath"}]`, values("--d", "a/../b"), "--d|/home/ann/b"},
		{`"packageArguments":[{"type":"named","name":"--d","format":"filepath"}]`, values("--d", "/abs"), "--d|/abs"},
	} {
		plan, err := launch.ResolvePackage(packed(t, npm+c.text), c.given, &launch.Options{Dir: "/home/ann"})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(plan.Argv()[3:], "|")
		}
		if err != nil && !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s with %q\ngot  %q\nwant %q", c.text, c.given, got, c.want)
		}
	}
}

func TestFaultsOfPackages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`"registryType":"gem","identifier":"w"`, "/registryType"},
		{`"registryType":"npm","identifier":"--eval=x"`, "/identifier"},
		{`"registryType":"npm","identifier":"git+ssh://e.com/x"`, "/identifier"},
		{`"registryType":"npm","identifier":"../w"`, "/identifier"},
		{`"registryType":"npm","identifier":"@e/.w"`, "/identifier"},
		{`"registryType":"npm","identifier":"w@npm:other"`, "/identifier"},
		{`"registryType":"pypi","identifier":"w @ https://e.com"`, "/identifier"},
		{`"registryType":"oci","identifier":"e/w 1"`, "/identifier"},
		{`"registryType":"npm","identifier":"w","version":"^1"`, "/version"},
		{`"registryType":"npm","identifier":"w","version":"1 --x"`, "/version"},
		{`"registryType":"npm","identifier":"w","version":"1.x"`, "/version"},
		{`"registryType":"npm","identifier":"w","version":"file:x"`, "/version"},
		{`"registryType":"mcpb","identifier":"w","fileSha256":"` + strings.Repeat("0", 64) + `"`, "http or https"},
		{`"registryType":"mcpb","identifier":"https://e.com/w"`, "fileSha256"},
		{`"registryType":"oci","identifier":"e/w:${TAG}"`, "placeholder"},
		{npm + `"environmentVariables":[{"name":"A=B","value":"x"}]`, "/environmentVariables/0/name"},
		{npm + `"environmentVariables":[{"name":"","value":"x"}]`, "/environmentVariables/0/name"},
		{npm + `"transport":{"type":"sse","url":"https://e.com","headers":[{"name":"A:B","value":"x"}]}`, "name of a header"},
		{npm + `"transport":{"type":"sse","url":"https://e.com","headers":[{"name":"A","value":"x\r\nB: y"}]}`, "/transport/headers/0"},
		{npm + `"transport":{"type":"sse","url":"https://{nobody}.e.com"}`, "/transport/url"},
		{npm + `"transport":{"type":"ws","url":"https://e.com"}`, "/transport/type"},
		{npm + `"packageArguments":[{"type":"named","name":""}]`, "/packageArguments/0/name"},
		{npm + `"packageArguments":[{"type":"other"}]`, "/packageArguments/0/type"},
		{npm + `"packageArguments":[{"type":"positional","value":"` + strings.Repeat("{a}", 2000) + `","variables":{"a":{"value":"` + strings.Repeat("x", 1000) + `"}}}]`, "131071"},
		{npm + `"packageArguments":[` + strings.Repeat(`{"type":"positional","value":"`+strings.Repeat("x", 100_000)+`"},`, 12) + `{"type":"positional","value":"x"}]`, "together"},
	} {
		_, err := launch.ResolvePackage(packed(t, c.text), nil, &launch.Options{Pointer: "/packages/7"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "/packages/7") {
			t.Errorf("%.200s\ngot %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestMissingTogether checks that all missing inputs are reported at once.
func TestMissingTogether(t *testing.T) {
	t.Parallel()
	p := packed(t, npm+`"packageArguments":[{"type":"positional","valueHint":"city","isRequired":true,"description":"Where"}],
		"environmentVariables":[{"name":"KEY","isRequired":true,"isSecret":true,"placeholder":"sk-..."},{"name":"URL","value":"https://{host}","variables":{"host":{"isRequired":true}}},{"name":"PORT"}],
		"transport":{"type":"sse","url":"http://localhost:{PORT}","headers":[{"name":"A","isRequired":true}]}`)
	_, err := launch.ResolvePackage(p, nil, nil)
	var faults launch.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v", err)
	}
	if got, want := strings.Join(faults.Missing(), " "), "city KEY host PORT A"; got != want {
		t.Errorf("got %s, want %s\n%v", got, want, err)
	}
	var one *launch.Fault
	if !errors.As(err, &one) || one.Pointer != "/packageArguments/0" || one.Suggestion != `description: "Where"` {
		t.Errorf("got %+v", one)
	}
	plan, err := launch.ResolvePackage(p, values("city", "Rome", "KEY", "k", "host", "h", "PORT", "80", "A", "a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.URL.Value.String(); got != "http://localhost:80" {
		t.Errorf("the url is %s", got)
	}
	if got := strings.Join(plan.Env(), " "); got != "KEY=k URL=https://h PORT=80" {
		t.Errorf("the environment is %s", got)
	}
}

// TestOptionalVariables checks that a token stays, or that OmitUnfilled omits its input.
func TestOptionalVariables(t *testing.T) {
	t.Parallel()
	p := packed(t, npm+`"environmentVariables":[{"name":"A","value":"x{y}","variables":{"y":{}}},{"name":"B","value":"{z}"},{"name":"C","value":"{y}","isRequired":true,"variables":{"y":{}}}]`)
	_, err := launch.ResolvePackage(packed(t, npm+`"environmentVariables":[{"name":"D","value":"{d}","isRequired":false,"variables":{"d":{"isRequired":true}}},{"name":"E","value":"{e}","variables":{"e":{"isRequired":true}}}]`), nil, &launch.Options{OmitUnfilled: true})
	if faults, ok := errors.AsType[launch.Faults](err); !ok || strings.Join(faults.Missing(), " ") != "e" {
		t.Errorf("got %v, want that e is missing, and not d", err)
	}
	for opts, want := range map[*launch.Options]string{nil: "A=x{y} B={z} C={y}", {OmitUnfilled: true}: "B={z} C={y}"} {
		plan, err := launch.ResolvePackage(p, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Env(), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestOrigins checks the origin of every item.
func TestOrigins(t *testing.T) {
	t.Parallel()
	plan, err := launch.ResolvePackage(packed(t, npm+`"runtimeHint":"npx","packageArguments":[{"type":"named","name":"--u","value":"m"}],"environmentVariables":[{"name":"A","value":"1"}],
		"transport":{"type":"sse","url":"https://e.com","headers":[{"name":"H","value":"1"}]}`), nil, &launch.Options{Pointer: "/packages/0"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range plan.Command {
		got = append(got, i.Value.String()+"<"+strings.TrimPrefix(i.Origin, "/packages/0"))
	}
	got = append(got, plan.Environment[0].Origin, plan.URL.Origin, plan.Headers[0].Origin)
	want := "npx</runtimeHint -y< w@1.0.0</identifier --u</packageArguments/0 m</packageArguments/0 /packages/0/environmentVariables/0 /packages/0/transport/url /packages/0/transport/headers/0"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// TestSecretsDoNotPrint checks that no way of printing or encoding a plan reveals a secret.
func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	p := packed(t, npm+`"packageArguments":[{"type":"named","name":"--k","isSecret":true},{"type":"positional","value":"a {s}","variables":{"s":{"isSecret":true}}},
		{"type":"positional","valueHint":"p","isSecret":true,"format":"filepath","default":"hunter2/x"}],
		"environmentVariables":[{"name":"KEY","isSecret":true,"default":"hunter2"}],
		"transport":{"type":"sse","url":"https://e.com/{KEY}/x","headers":[{"name":"A","value":"Bearer {t}","variables":{"t":{"isSecret":true,"value":"hunter2"}}}]}`)
	given := values("--k", "-"+secret, "s", secret)
	plan, err := launch.ResolvePackage(p, given, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("plan", "plan", plan, "value", plan.URL.Value)
	slog.New(slog.NewTextHandler(&log, nil)).Info("plan", "plan", plan, "value", plan.URL.Value)
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	form, err := json.Marshal(launch.PackageForm(p))
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ v launch.Value }{plan.URL.Value}
	texts := []string{log.String(), string(data), string(form), string(launch.PackageForm(p).Schema()), plan.Consent()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%5.1f", "%c", "%U", "%p"} {
		texts = append(texts, fmt.Sprintf(verb, plan.URL.Value), fmt.Sprintf(verb, *plan), fmt.Sprintf(verb, plan.Command[3].Value), fmt.Sprintf(verb, hidden))
	}
	for _, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("a secret is printed: %s", text)
		}
	}
	if !strings.Contains(plan.Consent(), "npx -y w@1.0.0 '--k=***' '***' '***'") || !strings.Contains(plan.Consent(), "'https://e.com/***/x'") {
		t.Errorf("the consent text does not show the command:\n%s", plan.Consent())
	}
	if got := plan.Argv()[3:]; !slices.Equal(got, []string{"--k=-hunter2", "a hunter2", "hunter2/x"}) || plan.Headers[0].Value.Reveal() != "Bearer hunter2" {
		t.Errorf("what is revealed is wrong: %q", got)
	}
	_, err = launch.ResolvePackage(p, values("--k", "a\x00"+secret, "s", secret+"\x00", "KEY", "\x00"+secret), nil)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("an error has the secret: %v", err)
	}
}

// TestURLs checks values in each component of a url.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, value, want string }{
		{"https://{x}.e.com/mcp", "eu", "https://eu.e.com/mcp"},
		{"https://{x}.e.com/mcp", "evil.com/", "host or port"},
		{"https://{x}.e.com/mcp", "evil.com#", "host or port"},
		{"https://{x}.e.com/mcp", "u@evil.com", "host or port"},
		{"https://{x}.e.com/mcp", "evil.com:80", "not a valid"},
		{"https://{x}.e.com/mcp", "", "needs a host"},
		{"https://{x}/mcp", "[::1]:80", "https://[::1]:80/mcp"},
		{"https://e.com:{x}/mcp", "8080", "https://e.com:8080/mcp"},
		{"https://e.com:{x}/mcp", "80/../", "host or port"},
		{"https://{x}@e.com/mcp", "a:b/c", "https://a%3Ab%2Fc@e.com/mcp"},
		{"https://e.com/{x}/mcp", "a/b?c#d e", "https://e.com/a%2Fb%3Fc%23d%20e/mcp"},
		{"https://e.com/{x}/mcp", "..", "dots only"},
		{"https://e.com/{x}/mcp", "a/../b", "dots only"},
		{"https://e.com/.{x}/mcp", ".", "dots only"},
		{"https://e.com/{x}.{x}/mcp", "", "is empty"},
		{"https://e.com/.{x}/mcp", "%2e", "https://e.com/.%252e/mcp"},
		{"https://e.com/mcp?a={x}&b=1", "1&admin=2#", "https://e.com/mcp?a=1%26admin%3D2%23&b=1"},
		{"https://e.com/mcp#{x}", "a b", "https://e.com/mcp#a%20b"},
		{"https://e.com/mcp?a={x}", "{x}", "https://e.com/mcp?a=%7Bx%7D"},
		{"https://e.com/{x}", "é\r\n", "https://e.com/%C3%A9%0D%0A"},
		{"{x}", "https://a.example", "https://a.example"},
		{"{x}/mcp", "https://a.example/base/", "https://a.example/base/mcp"},
		{"{x}/mcp", "ftp://a.example", "http or https"},
		{"{x}/mcp", "javascript:alert(1)", "http or https"},
		{"{x}/mcp", "https://a.example?x=", "has a query"},
		{"{x}/mcp", "https://u:p@a.example", "user"},
		{"{x}/{x}", "https://a.example", "https://a.example/https:%2F%2Fa.example"},
		{"https://{x}{y}/", "a", `the url contains "{y}"`},
	} {
		r := manifest.Remote{Type: "sse", URL: c.url, Variables: []manifest.Variable{{Name: "x"}}}
		e, err := launch.ResolveRemote(&r, values("x", c.value), nil)
		got := fmt.Sprint(err)
		if err == nil {
			got = e.URL.Value.String()
		}
		if err != nil && !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s with %q: got %s, want %s", c.url, c.value, got, c.want)
		}
	}
}

func TestRemoteHeaders(t *testing.T) {
	t.Parallel()
	r := manifest.Remote{Type: "streamable-http", URL: "https://e.com", Headers: []manifest.KeyValueInput{
		{Name: "Authorization", Input: manifest.Input{Value: new("Bearer {t}"), IsSecret: new(true)}, Variables: []manifest.Variable{{Name: "t", Input: manifest.Input{IsRequired: new(true)}}}},
		{Name: "X-Optional"},
	}}
	e, err := launch.ResolveRemote(&r, values("t", "abc"), &launch.Options{Pointer: "/remotes/1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Headers) != 1 || e.Headers[0].Value.Reveal() != "Bearer abc" || e.Headers[0].Value.String() != "***" || e.Headers[0].Origin != "/remotes/1/headers/0" {
		t.Errorf("got %+v", e)
	}
	if want := "This server is connected to:\n  https://e.com\nwith these headers:\n  Authorization: '***'\n"; e.Consent() != want {
		t.Errorf("got %s\nwant %s", e.Consent(), want)
	}
	if _, err := launch.ResolveRemote(&r, values("t", "abc\r\nX-Evil: 1"), nil); err == nil || !strings.Contains(err.Error(), "line break") {
		t.Errorf("got %v", err)
	}
}

func TestConsentShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	plan, err := launch.ResolvePackage(packed(t, npm+`"packageArguments":[{"type":"positional","value":"a\u202eb\u0007'\\"},{"type":"positional","value":"it's $HOME"},{"type":"positional","valueHint":"x"}],
		"environmentVariables":[{"name":"LD_PRELOAD","value":"/x"}],"fileSha256":"x"`), values("x", "\ufffd\xff"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `This command is run with all your permissions on this machine:
  npx -y w@1.0.0 $'a\u202eb\u0007\'\\' 'it'\''s $HOME' $'\ufffd\xff'
with these environment variables:
  LD_PRELOAD=/x
Danger: "LD_PRELOAD" changes how programs are found, loaded, installed or connected to
Warning: fileSha256 is not checked, because the launcher downloads the package itself
`
	if got := plan.Consent(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNotices checks the notices of allowed manifests.
func TestNotices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, pointer, want string }{
		{npm + `"packageArguments":[{"type":"named","name":"--k","isSecret":true,"default":"x"}]`, "/packageArguments/0", "secret"},
		{`"registryType":"cargo","identifier":"w","version":"1.0.0","runtimeArguments":[{"type":"named","name":"--features","value":"x","isSecret":true}]`, "/runtimeArguments/0", "secret"},
		{npm + `"runtimeHint":"curl x | sh"`, "/runtimeHint", `ignored`},
		{npm + `"registryBaseUrl":"https://e.com"`, "/registryBaseUrl", `comes from "https://e.com"`},
		{npm + `"fileSha256":"x"`, "/fileSha256", "is not checked"},
		{npm + `"transport":{"type":"sse","url":"http://e.com"}`, "/transport/url", "in transit"},
		{`"registryType":"npm","identifier":"w"`, "", "no version is pinned"},
		{`"registryType":"npm","identifier":"w","version":"latest"`, "", "no version is pinned"},
		{npm + `"environmentVariables":[{"name":""}]`, "/environmentVariables/0", "left out"},
		{npm + `"environmentVariables":[{"name":"A_B","choices":["x","y"],"default":"all"}]`, "/environmentVariables/0/default", "not one of the choices"},
		{`"registryType":"oci","identifier":"e/w:latest"`, "", "no version is pinned"},
		{npm + `"environmentVariables":[{"name":"A_B","value":"1"},{"name":"A_B","value":"2"}]`, "/environmentVariables/1", `"A_B" is set twice`},
		{npm + `"runtimeArguments":[{"type":"positional","value":"other"}]`, "/runtimeArguments/0", `"other"`},
		{npm + `"environmentVariables":[{"name":"A_B","value":"{b}"}]`, "/environmentVariables/0/value", `contains "{b}"`},
	} {
		plan, err := launch.ResolvePackage(packed(t, c.text), nil, &launch.Options{Pointer: "/packages/0"})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Notices) != 1 || plan.Notices[0].Pointer != "/packages/0"+c.pointer || !strings.Contains(plan.Notices[0].Message, c.want) {
			t.Errorf("%s: got %v, want %s: %s", c.text, plan.Notices, c.pointer, c.want)
		}
	}
}

// TestPrivateRegistry: the launcher is told to use the registry of the manifest, or it is a danger.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	const base = "https://pkgs.acme.example/registry/"
	for text, want := range map[string]string{
		`"registryType":"npm","identifier":"@acme/w","version":"1.2.3"`:                                                                                     "npx -y --registry=" + base + " @acme/w@1.2.3",
		`"registryType":"npm","identifier":"w","version":"1.2.3","runtimeArguments":[{"type":"named","name":"--registry","value":"https://other.example"}]`: "npx -y --registry https://other.example w@1.2.3",
		`"registryType":"pypi","identifier":"w","version":"1.2.3"`:                                                                                          "uvx --default-index=" + base + " --from w==1.2.3 w",
		`"registryType":"pypi","identifier":"w","version":"1.2.3","runtimeHint":"pipx"`:                                                                     "pipx run --index-url=" + base + " --spec w==1.2.3 w",
		`"registryType":"nuget","identifier":"A.B","version":"1.2.3"`:                                                                                       "dnx --source=" + base + " A.B@1.2.3 --yes",
		`"registryType":"cargo","identifier":"w","version":"1.2.3"`:                                                                                         "",
	} {
		plan, err := launch.ResolvePackage(packed(t, text+`,"registryBaseUrl":"`+base+`"`), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		danger := slices.ContainsFunc(plan.Notices, func(n launch.Notice) bool {
			return n.Severity == launch.SeverityDanger && n.Pointer == "/registryBaseUrl"
		})
		if danger != (want == "") || want != "" && plan.Command.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, plan.Command, plan.Notices, want)
		}
	}
	for _, base := range []string{"http://pkgs.acme.example", "https://ann:secret@pkgs.acme.example"} {
		plan, err := launch.ResolvePackage(packed(t, npm+`"registryBaseUrl":"`+base+`"`), nil, nil)
		if err != nil || plan.Command.String() != "npx -y w@1.0.0" || len(plan.Notices) != 1 || plan.Notices[0].Severity != launch.SeverityDanger {
			t.Errorf("%s: got %v, %v", base, plan, err)
		}
	}
}

// TestSharedNames: a variable of the url is that of an argument, by its default or by a value, also if an argument has its name.
func TestSharedNames(t *testing.T) {
	t.Parallel()
	const url = `"transport":{"type":"streamable-http","url":"http://127.0.0.1:{port}/mcp"},`
	for _, c := range []struct {
		text   string
		values launch.Values
		want   string
	}{
		{`"packageArguments":[{"type":"named","name":"--port","value":"{port}","variables":{"port":{"default":"5000"}}}]`, nil, "--port 5000 http://127.0.0.1:5000/mcp"},
		{`"packageArguments":[{"type":"named","name":"--port","value":"{port}","variables":{"port":{"default":"5000"}}}]`, launch.Values{"port": {"6000"}}, "--port 6000 http://127.0.0.1:6000/mcp"},
		{`"packageArguments":[{"type":"positional","valueHint":"port","default":"5000"},{"type":"named","name":"--p","value":"{port}","variables":{"port":{"default":"5000"}}}]`, launch.Values{"port": {"6000"}}, "6000 --p 6000 http://127.0.0.1:6000/mcp"},
		{`"packageArguments":[{"type":"named","name":"--port"}],"environmentVariables":[{"name":"port","value":"7000"}]`, launch.Values{"port": {"6000"}}, "--port 6000 http://127.0.0.1:7000/mcp"},
	} {
		plan, err := launch.ResolvePackage(packed(t, npm+url+c.text), c.values, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.TrimPrefix(plan.Command.String(), "npx -y w@1.0.0 ") + " " + plan.URL.Value.Reveal(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestOwnLauncher(t *testing.T) {
	t.Parallel()
	l := launch.Launcher{Command: []string{"gem", "exec"}, Package: []string{"-v", "{version}", "{identifier}"}, Unversioned: []string{"{identifier}"}}
	plan, err := launch.ResolvePackage(packed(t, `"registryType":"gem","identifier":"w","version":"1.0.0","runtimeHint":"ruby"`), nil, &launch.Options{Launchers: map[string]launch.Launcher{"gem": l}})
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Command.String(); got != "gem exec -v 1.0.0 w" {
		t.Errorf("got %s", got)
	}
	own := launch.Launcher{Package: []string{"{identifier}"}, Unversioned: []string{"{identifier}"}}
	p := packed(t, `"registryType":"gem","identifier":"w","version":"1.0.0","runtimeArguments":[{"type":"positional","value":"-x"}]`)
	if plan, err = launch.ResolvePackage(p, nil, &launch.Options{Launchers: map[string]launch.Launcher{"gem": own}}); err != nil {
		t.Fatal(err)
	}
	if got := plan.Command.String(); got != "-x w" {
		t.Errorf("got %s", got)
	}
}

func TestValuesOfJSON(t *testing.T) {
	t.Parallel()
	var v launch.Values
	if err := json.Unmarshal([]byte(`{"a":1e2,"b":true,"c":["x",1.50],"d":"s"}`), &v); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(v); got != "map[a:[1e2] b:[true] c:[x 1.50] d:[s]]" {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{`[]`, `{"a":null}`, `{"a":{}}`, `{"a":[[]]}`, `{"a":1,"a":2}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
