package launch_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// published calls f for each document of published/*.ndjson.gz of the corpus that the environment
// names, with its packages and remotes. Other parts of a document need not be valid.
func published(t *testing.T, f func(packages []*manifest.Package, remotes []*manifest.Remote)) {
	t.Helper()
	dir := os.Getenv("ASHLAR_MANIFEST_CORPUS")
	if dir == "" {
		t.Skip("SKIPPED: ASHLAR_MANIFEST_CORPUS does not name a directory with published/*.ndjson.gz, so no published manifest is tested")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "published", "*.ndjson.gz"))
	if len(files) == 0 {
		t.Skipf("SKIPPED: %s has no published/*.ndjson.gz, so no published manifest is tested", dir)
	}
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		text, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var doc struct{ Packages, Remotes []json.RawMessage }
			if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			f(parts[manifest.Package](doc.Packages), parts[manifest.Remote](doc.Remotes))
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// parts returns the parts of a document that are sound.
func parts[T any](list []json.RawMessage) []*T {
	var all []*T
	for _, data := range list {
		v := new(T)
		if json.Unmarshal(data, v) == nil {
			all = append(all, v)
		}
	}
	return all
}

// TestPublished checks for every published package that the word that the launcher takes for the
// package is that of the manifest, or that there is a fault. With -v it prints totals.
func TestPublished(t *testing.T) {
	t.Parallel()
	count := make(map[string]int)
	published(t, func(packages []*manifest.Package, remotes []*manifest.Remote) {
		count["documents"]++
		for _, p := range packages {
			count["packages"]++
			given := answersFor(launch.PackageForm(p))
			plan, err := launch.ResolvePackage(p, given, nil)
			if countFaults(count, err) {
				continue
			}
			count["plans"]++
			for _, n := range plan.Notices {
				count["notices, "+string(n.Severity)]++
				if strings.HasSuffix(n.Pointer, "/registryBaseUrl") {
					count["notices about a registry"]++
				}
			}
			if err := runsOwn(p, plan); err != nil {
				t.Errorf("%s: %v\n%s", p.Identifier, err, plan.Command)
			}
			checkHeaders(t, plan.Headers)
		}
		for _, r := range remotes {
			count["remotes"]++
			form := launch.RemoteForm(r)
			for i := range r.Headers {
				if h := &r.Headers[i]; h.Value != nil && strings.Contains(*h.Value, "{") && len(h.Variables) == 0 {
					count["headers with an undeclared token"]++
				}
			}
			e, err := launch.ResolveRemote(r, answersFor(form), nil)
			if !countFaults(count, err) {
				count["endpoints"]++
				checkHeaders(t, e.Headers)
			}
		}
	})
	for _, key := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%6d %s", count[key], key)
	}
	if count["plans"] < count["packages"]*9/10 {
		t.Errorf("only %d of %d packages have a plan", count["plans"], count["packages"])
	}
	if n := count["notices about a registry"]; n > 0 {
		t.Errorf("%d notices are about a registry, although all packages are at the default ones", n)
	}
}

func checkHeaders(t *testing.T, headers []launch.Setting) {
	t.Helper()
	for _, h := range headers {
		if strings.Contains(h.Value.Reveal(), "{") {
			t.Errorf("the header %s is sent with a token: %s", h.Name, h.Value.Reveal())
		}
	}
}

func countFaults(count map[string]int, err error) bool {
	var faults launch.Faults
	if errors.As(err, &faults) {
		count["with faults"]++
		for _, f := range faults {
			message, _, _ := strings.Cut(f.Message, " (")
			for _, quoted := range strings.Split(f.Message, `"`)[1:] {
				message = strings.Replace(message, `"`+quoted+`"`, "...", 1)
			}
			count["faults, "+string(f.Kind)+": "+message]++
		}
	}
	return err != nil
}

func answersFor(f *launch.Form) launch.Values {
	given := launch.Values{}
	for i := range f.Prompts {
		p := &f.Prompts[i]
		switch {
		case p.Default != nil:
		case strings.HasPrefix(p.Pointer, "/runtimeArguments") && p.Role == launch.RoleVariable:
			given[p.Key] = []string{"1000"} // has no separator of a mount
		default:
			given[p.Key] = []string{answer(p)}
		}
	}
	return given
}

// grammar describes the options of a launcher, written for this test: options with a value, and
// those without one, by the documentation of the launcher.
type grammar struct {
	words          int // of the launcher
	values, flags  string
	short          bool // -it
	dashValues     bool // a value may begin with a dash
	packageOptions string
	several        bool // packageOptions may be repeated
}

func (g grammar) has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// find returns the word that is taken for the package or image, the value of an option that names
// the package, and whether all options are known.
func (g grammar) find(argv []string) (operand, named string, err error) {
	for i := g.words; i < len(argv); i++ {
		w := argv[i]
		if w == "--" {
			return argv[i+1], named, nil
		}
		if len(w) < 2 || w[0] != '-' {
			return w, named, nil
		}
		name, value, attached := strings.Cut(w, "=")
		if g.short && !strings.HasPrefix(w, "--") && len(w) > 2 {
			at := 1
			for at < len(w)-1 && g.has(g.flags, "-"+w[at:at+1]) {
				at++
			}
			name, value = "-"+w[at:at+1], strings.TrimPrefix(w[at+1:], "=")
			attached = value != ""
		}
		switch {
		case g.has(g.values, name) && !attached:
			if i++; i >= len(argv) {
				return "", "", fmt.Errorf("%s has no value", name)
			}
			value = argv[i]
		case !g.has(g.values, name) && !g.has(g.flags, name) && !attached && (i+1 == len(argv) || !strings.HasPrefix(argv[i+1], "-") || g.dashValues):
			return "", "", fmt.Errorf("the unknown option %s may take the next word", name)
		}
		if g.has(g.packageOptions, name) {
			if named != "" && named != value && !g.several {
				return "", "", errors.New("two packages are named")
			}
			if named = value; g.several && strings.HasPrefix(value, "good-tool") {
				g.packageOptions = "" // the others are further packages
			}
		}
	}
	return "", named, nil
}

var containers = grammar{
	words: 2, short: true, dashValues: true,
	flags: "-i --interactive -t --tty --rm --init -d --detach --privileged -P --publish-all -q --quiet --read-only --no-healthcheck --sig-proxy --oom-kill-disable --use-api-socket --disable-content-trust",
	values: `-e --env -v --volume -p --publish --mount --name --network --net -u --user -w --workdir --entrypoint --env-file -m --memory --cap-add --cap-drop -l --label
		-h --hostname -a --attach -c --cpu-shares --cpus --shm-size --tmpfs --platform --pull --restart --security-opt --add-host --dns --device --gpus --group-add --pid --ipc
		--uts --userns --cgroupns --ulimit --sysctl --log-driver --log-opt --runtime --stop-signal --stop-timeout --memory-swap --pids-limit --expose --link --volumes-from --cidfile --ip`,
}

var grammars = map[string]grammar{
	"npx":    {words: 1, flags: "-y --yes -q --quiet --no-fund --what -s", values: "-p --package --registry --loglevel -c --call --prefix --name --git -w", packageOptions: "-p --package"},
	"bunx":   {words: 1, flags: "--bun --silent --verbose -y --yes", values: "-p --package --registry", packageOptions: "-p --package"},
	"bun":    {words: 2, flags: "--bun --silent --verbose -y --yes", values: "-p --package --registry", packageOptions: "-p --package"},
	"pnpm":   {words: 2, flags: "--silent -s -w", values: "--package --reporter --registry", packageOptions: "--package"},
	"uvx":    {words: 1, short: true, flags: "-q --quiet --isolated --offline -n -v", values: "-c --from --with -w -p --python --index-url -i --extra-index-url", packageOptions: "--from"},
	"pipx":   {words: 2, short: true, flags: "--no-cache --verbose -v -q", values: "--spec --with --python --pip-args -i --index-url", packageOptions: "--spec"},
	"docker": containers,
	"podman": containers,
	"uv":     {words: 3, short: true, flags: "-q --quiet --isolated --offline -n -v", values: "-c --from --with -w -p --python --index-url -i --extra-index-url", packageOptions: "--from"},
	"uv run": {words: 2, short: true, flags: "-q --quiet --isolated --offline -n -v -m --module --no-project --frozen", values: "-c --with -w -p --python --index-url -i --extra-index-url", packageOptions: "--with -w", several: true},
	"dotnet": {words: 3, flags: "-y --yes --prerelease --interactive --allow-roll-forward", values: "-v --verbosity -a --arch --source --add-source --configfile"},
	"dnx":    {words: 1, flags: "-y --yes --prerelease --interactive --allow-roll-forward", values: "-v --verbosity --source --add-source --configfile"},
	"cargo":  {words: 2, short: true, flags: "--locked -f --force -q --quiet -v --verbose", values: "--version --features -F --root --git --path --index --registry", packageOptions: "--git --path"},
}

// runsOwn checks that a plan runs the package of the manifest in its version and no other.
func runsOwn(p *manifest.Package, plan *launch.Plan) error {
	if len(plan.Command) == 0 {
		return nil // a bundle file
	}
	argv := plan.Argv()
	if len(plan.Setup) > 0 {
		argv = plan.Setup[0].Argv()
	}
	program := argv[0]
	if program == "uv" && argv[1] == "run" {
		program = "uv run"
	}
	g, known := grammars[program]
	if !known {
		return fmt.Errorf("no grammar of %s", program)
	}
	operand, named, err := g.find(argv)
	if err != nil {
		return err
	}
	if before, after, extras := strings.Cut(named, "["); extras { // of the publisher
		_, after, _ = strings.Cut(after, "]")
		named = before + after
	}
	version, want := "", ""
	if p.Version != nil && *p.Version != "latest" {
		version = *p.Version
	}
	switch strings.ToLower(p.RegistryType) {
	case "npm", "nuget":
		want = strings.TrimSuffix(p.Identifier+"@"+version, "@")
	case "pypi":
		want = p.Identifier + "==" + version
	case "cargo":
		want = p.Identifier
	case "oci":
		want = p.Identifier
		last := want[strings.LastIndexByte(want, '/')+1:]
		if version != "" && !strings.ContainsAny(last, ":@") {
			if strings.HasPrefix(version, "sha256:") {
				want += "@" + version
			} else {
				want += ":" + version
			}
		}
		if base := p.RegistryBaseURL; base != nil && operand != want {
			want = strings.TrimPrefix(*base, "https://") + "/" + want
		}
	}
	switch {
	case named == want && operand != "" && named != "":
		return nil // operand is a command of the package
	case named != "":
		return fmt.Errorf("%s is named, want %s", named, want)
	case operand != want:
		return fmt.Errorf("%s is run, want %s", operand, want)
	}
	return nil
}

// TestAnyRuntimeArguments checks that no runtimeArguments let another package run.
func TestAnyRuntimeArguments(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 20))
	packs := []string{
		good, good + `"runtimeHint":"bunx",`, good + `"runtimeHint":"bun",`, good + `"runtimeHint":"pnpm",`, wheel, wheel + `"runtimeHint":"pipx",`, wheel + `"runtimeHint":"uv",`,
		image, image + `"runtimeHint":"podman",`, nuget, nuget + `"runtimeHint":"dotnet",`, crates, good + `"runtimeHint":"evil",`,
	}
	words := strings.Fields(`good good@1.1.2 good@latest good-tool good-tool==1.0 good_tool[x] images.example/e/w images.example/e/w:2 E.W e.w@1 e-w
		evil evil@1 evil==2 evil/image:1 @evil/x mcp run exec x dlx tool install true false -- - -y --yes -i -it --rm -q -e -e=X -eX_Y=1 --env --env=A_B=1 -v -v/a:/b
		-p -p=good -p=evil -pevil --package --package=good --package=evil --from --from=good-tool --from=evil --spec --spec=evil --with --with=evil -c --call
		--registry --what --what=x --what-value -w --git --path --version --locked --name --network --no-fund --no --yes=false -y=true --rm=false --features npx docker`)
	count, runs := 0, 20_000
	if testing.Short() {
		runs = 2_000
	}
	for range runs {
		pack := packs[r.IntN(len(packs))]
		var list []string
		for range 1 + r.IntN(5) {
			w := words[r.IntN(len(words))]
			if w[0] == '-' && r.IntN(3) == 0 {
				w += " " + words[r.IntN(len(words))]
			}
			list = append(list, w)
		}
		p := packed(t, pack+runtime(t, list...)+`,"packageArguments":[{"type":"positional","value":"evil"}]`)
		plan, err := launch.ResolvePackage(p, nil, nil)
		if err != nil {
			continue
		}
		count++
		if err := runsOwn(p, plan); err != nil {
			t.Fatalf("%s %q: %v\n%q", pack, list, err, plan.Argv())
		}
	}
	if count < runs/20 {
		t.Errorf("only %d of %d have a plan", count, runs)
	}
}

// FuzzRuntimeArguments does the same for the words of a fuzzer, one on each line.
func FuzzRuntimeArguments(f *testing.F) {
	f.Add(0, "--yes\ngood@1.1.2\nother-bin")
	f.Add(1, "--from good-tool\nentry")
	f.Add(2, "run\n-i true\n-e\nX_Y\nimages.example/e/w")
	f.Add(3, "E.W\n--\nx")
	f.Add(4, "e-w\n--locked")
	f.Fuzz(func(t *testing.T, n int, lines string) {
		packs := []string{good, wheel, image, nuget, crates}
		if n < 0 || n >= len(packs) || strings.ContainsRune(lines, 0) {
			return
		}
		p := packed(t, packs[n]+runtime(t, strings.Split(lines, "\n")...)+`,"packageArguments":[{"type":"positional","value":"evil"}]`)
		plan, err := launch.ResolvePackage(p, nil, nil)
		if err != nil || len(plan.Notices) > 0 {
			return // options that the grammar of this test does not have are noticed
		}
		if err := runsOwn(p, plan); err != nil && !strings.Contains(err.Error(), "unknown option") {
			t.Errorf("%q: %v\n%q", lines, err, plan.Argv())
		}
	})
}

// TestCases resolves reported documents.
func TestCases(t *testing.T) {
	t.Parallel()
	samples := os.Getenv("ASHLAR_SAMPLES")
	if samples == "" {
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_SAMPLES does not name the directory of samples")
	}
	for name, want := range map[string]struct {
		argv, env string
		notice    string // the end of its pointer
	}{
		"10-base-url":    {"npx -y --registry=https://pkgs.acme.example/npm/registry/ @acme/memory@1.2.3", "", "/registryBaseUrl"},
		"18-default-all": {"npx -y acme-tool@1.2.3", "ACME_SETS=all", "/environmentVariables/0/default"},
		"19-empty-env":   {"npx -y acme-tool@1.2.3", "", "/environmentVariables/0"},
	} {
		text, err := os.ReadFile(filepath.Join(samples, "cases", "manifest", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var s manifest.Server
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		plan, err := launch.ResolvePackage(&s.Packages[0], nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(plan.Argv(), " "); got != want.argv || strings.Join(plan.Env(), " ") != want.env {
			t.Errorf("%s: got %s with %v", name, got, plan.Env())
		}
		if !slices.ContainsFunc(plan.Notices, func(n launch.Notice) bool { return strings.HasSuffix(n.Pointer, want.notice) }) {
			t.Errorf("%s: %v", name, plan.Notices)
		}
	}
}
