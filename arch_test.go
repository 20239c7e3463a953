package ashlar_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/ashlar-go/ashlar"

// layers orders the packages: a package imports packages of lower layers only. Patterns are
// those of path.Match, below the module's path; the first that matches counts.
var layers = []struct {
	name     string
	packages []string
}{
	{"internal", []string{"internal/*", "inventory/sqlstore/internal/plan"}},
	{"engine of a domain", []string{"inventory/records"}},
	{"domain", []string{"httpx", "ratelimit", "manifest", "inventory", "bookcatalog", "inventory/sqlstore/internal/dialect"}},
	{"one concern of a domain", []string{
		"ratelimit/store/*", "ratelimit/internal/*", "ratelimit/config", "ratelimit/explain", "ratelimit/localcache",
		"internal/ratelimit/*", "ratelimit/stats", "manifest/launch", "manifest/schematest", "manifest/registry",
		"inventory/auth", "inventory/internal/mail", "inventory/openapi", "inventory/internal/encode", "inventory/demo", "inventory/storetest", "inventory/sqlstore", "inventory/feed", "inventory/importer",
		"bookcatalog/storetest", "httpx/httpxtest", "httpx/sanitize", "httpx/ui",
	}},
	{"over those", []string{
		"ratelimit/stats/*", "ratelimit/xds", "ratelimit/httplimit", "ratelimit/grpclimit",
		"inventory/auth/*", "inventory/accounts", "inventory/client", "inventory/site", "internal/inventory/*", "inventory/sqlstore/*", "inventory/sqlstore/internal/*", "bookcatalog/sqlstore/*",
		"manifest/registry/*", "httpx/*",
	}},
	{"what a feature is", []string{"inventory/feature"}},
	{"parts of features", []string{"inventory/feature/*/*", "inventory/feature/*/internal/*"}},
	{"transport and features", []string{"ratelimit/service", "ratelimit/quota", "inventory/httpapi", "inventory/feature/*", "bookcatalog/httpapi"}},
	{"features of this module", []string{"inventory/standard"}},
	{"families of pages", []string{"inventory/console/internal/*"}},
	{"console", []string{"ratelimit/console", "inventory/console"}},
	{"tests of features", []string{"inventory/internal/featuretest"}},
	{"server", []string{"ratelimit/server", "inventory/server"}},
	{"support of programs", []string{"cmd/internal/attack", "cmd/internal/browsertest", "cmd/internal/cli", "cmd/internal/deploytest", "cmd/internal/e2e"}},
	{"parts of programs", []string{"cmd/*/internal/*"}},
	{"program", []string{"cmd/*", "cmd/internal/clitest", "cmd/internal/ratelimit-load", "cmd/internal/release", "examples/*", "."}},
}

// sideways lists the layers whose packages may import each other.
var sideways = []string{"internal"}

// weakRandom lists the packages whose random numbers an attacker may predict: jitter, the choice
// of a shard, made-up data, tests.
var weakRandom = []string{
	"internal/backoff", "ratelimit", "ratelimit/store/redisstore", "ratelimit/stats", "inventory/sqlstore", "inventory/demo", "cmd/internal/ratelimit-load",
	"*/storetest", "ratelimit/store/storetest",
}

// clients names the packages that may import a third-party module, by the prefix of its
// import paths. Programs, examples and tests of packages above the core are free.
var clients = map[string][]string{
	"github.com/google/uuid":                    {"inventory*", "inventory/*", "inventory/feature/netboxapi", "bookcatalog*", "internal/tracing"},
	"github.com/go-playground/validator/v10":    {"bookcatalog"},
	"golang.org/x/crypto":                       {"inventory/auth"},
	"golang.org/x/text":                         {"inventory"},
	"github.com/ccojocar/zxcvbn-go":             {"inventory/auth"},
	"github.com/golang-jwt/jwt/v5":              {"inventory/auth/jwt"},
	"rsc.io/qr":                                 {"inventory/feature/logins"},
	"github.com/coreos/go-oidc/v3":              {"inventory/auth/oidc"},
	"golang.org/x/oauth2":                       {"inventory/auth/oidc"},
	"github.com/redis/go-redis/v9":              {"ratelimit/store/redisstore", "internal/redistest"},
	"github.com/bradfitz/gomemcache":            {"ratelimit/store/memcachestore"},
	"google.golang.org/grpc":                    {"ratelimit/service", "ratelimit/quota", "ratelimit/server", "ratelimit/xds", "internal/tracing", "ratelimit/grpclimit"},
	"google.golang.org/protobuf":                {"ratelimit/service", "ratelimit/quota", "ratelimit/xds", "ratelimit/grpclimit"},
	"google.golang.org/genproto/googleapis/rpc": {"ratelimit/grpclimit"},
	"github.com/envoyproxy/go-control-plane":    {"ratelimit/service", "ratelimit/quota", "ratelimit/xds"},
	"gopkg.in/yaml.v3":                          {"internal/yamltree"},
	"modernc.org/sqlite":                        {"*/sqlstore/sqlite", "manifest/registry/sqlite"},
	"github.com/jackc/pgx/v5":                   {"inventory/sqlstore/postgres"},
	"github.com/pressly/goose/v3":               {"bookcatalog/sqlstore/sqlite"},
	"github.com/microcosm-cc/bluemonday":        {"httpx/sanitize"},
	"github.com/maypok86/otter/v2":              {"ratelimit/localcache"},
	"github.com/prometheus":                     {"ratelimit/stats/prom", "inventory/server"},
	"go.opentelemetry.io":                       {"internal/tracing"},
	"github.com/fsnotify/fsnotify":              {"internal/watch"},
	"github.com/xuri/excelize":                  {"inventory/importer"},
	"github.com/gosnmp/gosnmp":                  {"cmd/inventory-collect/internal/collect", "internal/snmptest"},
	"golang.org/x/sync":                         {"inventory/records", "inventory/httpapi", "ratelimit/store/redisstore", "ratelimit/server", "inventory/server"},
	"golang.org/x/mod":                          {"manifest/registry"},
	"golang.org/x/net":                          {"internal/tracing", "ratelimit/server"},
	"github.com/tailscale/hujson":               {"cmd/manifest/internal/client"},
	"github.com/pelletier/go-toml/v2":           {"cmd/manifest/internal/client", "cmd/manifest/internal/publish"},
	"github.com/wneessen/go-mail":               {"inventory/internal/mail"},
	"github.com/stretchr/testify":               {"*test"},
}

// standardOnly lists the packages that, with their tests, import the standard library and
// each other only: an importer gets no new line in go.sum.
var standardOnly = []string{"ratelimit", "ratelimit/store/memstore", "ratelimit/explain", "manifest", "httpx"}

// pkg is the part of a package's listing that the rules need.
type pkg struct {
	ImportPath, Name, Dir              string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

func (p *pkg) rel() string {
	rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
	if rel == "" {
		return "."
	}
	return rel
}

func (p *pkg) forTests() bool { return strings.HasSuffix(p.Name, "test") }

// listPackages lists the packages of the module.
func listPackages(t *testing.T) []*pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Dir,GoFiles,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []*pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &pkg{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func own(importPath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}

// thirdParty reports whether the import path is neither ours nor of the standard library,
// whose paths have no dot in their first element.
func thirdParty(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !own(importPath)
}

func matches(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if suffix, ok := strings.CutPrefix(pattern, "*"); ok && !strings.Contains(suffix, "*") && strings.HasSuffix(rel, suffix) {
			return true
		}
		ok, err := path.Match(pattern, rel)
		return ok && err == nil
	})
}

// layerOf returns the index of a package's layer, or -1.
func layerOf(rel string) int {
	for i, layer := range layers {
		if matches(layer.packages, rel) {
			return i
		}
	}
	return -1
}

// clientOf returns the prefix in clients that an import path belongs to.
func clientOf(importPath string) string {
	for prefix := range clients {
		if importPath == prefix || strings.HasPrefix(importPath, prefix+"/") {
			return prefix
		}
	}
	return ""
}

// violations returns what a package does against the rules.
func violations(p *pkg) []string {
	rel, found := p.rel(), []string{}
	layer := layerOf(rel)
	if layer < 0 {
		return []string{rel + ": add the package to a layer in arch_test.go"}
	}
	if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "base"}, p.Name) {
		found = append(found, rel+": the name does not say what the package is for")
	}
	program := layers[layer].name == "program" || layers[layer].name == "support of programs"
	for _, imported := range p.Imports {
		target := strings.TrimPrefix(imported, modulePath+"/")
		switch {
		case imported == "testing" && !p.forTests():
			found = append(found, rel+" links the test framework: only packages whose name ends in test may import testing")
		case own(imported) && layerOf(target) > layer,
			own(imported) && layerOf(target) == layer && !slices.Contains(sideways, layers[layer].name):
			found = append(found, rel+" imports "+target+", which is not in a lower layer")
		case strings.HasPrefix(imported, "math/rand") && !matches(weakRandom, rel):
			found = append(found, rel+" imports "+imported+": use crypto/rand, or add the package to weakRandom in arch_test.go if an attacker may predict the numbers")
		case thirdParty(imported) && !program && !matches(clients[clientOf(imported)], rel):
			found = append(found, rel+" imports "+imported+": use the package that wraps it, or add this one to clients in arch_test.go")
		}
	}
	return found
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, v := range violations(p) {
			t.Error(v)
		}
	}
}

// TestTablesMatch reports entries of the tables above that no package needs.
func TestTablesMatch(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{} // table, then entry
	for _, p := range listPackages(t) {
		rel := p.rel()
		if layer := layerOf(rel); layer >= 0 {
			for _, pattern := range layers[layer].packages {
				if matches([]string{pattern}, rel) {
					needed["layers "+pattern] = true
					break // the first that matches counts
				}
			}
		}
		needed["standardOnly "+rel] = true
		for _, imported := range p.Imports {
			target := strings.TrimPrefix(imported, modulePath+"/")
			if own(imported) && layerOf(target) == layerOf(rel) {
				needed["sideways "+layers[layerOf(rel)].name] = true
			}
			for _, pattern := range weakRandom {
				if strings.HasPrefix(imported, "math/rand") && matches([]string{pattern}, rel) {
					needed["weakRandom "+pattern] = true
				}
			}
			client := clientOf(imported)
			for _, pattern := range clients[client] {
				if matches([]string{pattern}, rel) {
					needed["clients "+client+" "+pattern] = true
				}
			}
		}
	}
	entries := []string{}
	for _, layer := range layers {
		for _, pattern := range layer.packages {
			if !strings.HasPrefix(pattern, "inventory/feature/*/") { // each feature can be deleted
				entries = append(entries, "layers "+pattern)
			}
		}
	}
	for table, list := range map[string][]string{"sideways": sideways, "weakRandom": weakRandom, "standardOnly": standardOnly} {
		for _, entry := range list {
			entries = append(entries, table+" "+entry)
		}
	}
	for client, list := range clients {
		for _, pattern := range list {
			entries = append(entries, "clients "+client+" "+pattern)
		}
	}
	slices.Sort(entries)
	for _, entry := range entries {
		if !needed[entry] {
			t.Errorf("%s: no package needs this entry of arch_test.go: remove it", entry)
		}
	}
}

// TestEmbedding checks that a program with users of its own links no library for tokens.
func TestEmbedding(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./examples/inventory-mount").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "golang-jwt") {
		t.Error("examples/inventory-mount links golang-jwt")
	}
}

// TestImportRules shows that each rule finds a package that breaks it.
func TestImportRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg  pkg
		want string
	}{
		{pkg{ImportPath: modulePath + "/ratelimit/new", Name: "new"}, "add the package to a layer"},
		{pkg{ImportPath: modulePath + "/httpx/util", Name: "util"}, "does not say what"},
		{pkg{ImportPath: modulePath + "/ratelimit", Name: "ratelimit", Imports: []string{"testing"}}, "links the test framework"},
		{pkg{ImportPath: modulePath + "/ratelimit", Name: "ratelimit", Imports: []string{modulePath + "/ratelimit/config"}}, "not in a lower layer"},
		{pkg{ImportPath: modulePath + "/ratelimit", Name: "ratelimit", Imports: []string{modulePath + "/httpx"}}, "not in a lower layer"},
		{pkg{ImportPath: modulePath + "/ratelimit", Name: "ratelimit", Imports: []string{"gopkg.in/yaml.v3"}}, "use the package that wraps it"},
		{pkg{ImportPath: modulePath + "/httpx", Name: "httpx", Imports: []string{"example.com/x"}}, "use the package that wraps it"},
		{pkg{ImportPath: modulePath + "/inventory/auth", Name: "auth", Imports: []string{"math/rand/v2"}}, "use crypto/rand"},
	} {
		if got := violations(&c.pkg); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s importing %v: got %q, want one message with %q", c.pkg.ImportPath, c.pkg.Imports, got, c.want)
		}
	}
	allowed := pkg{ImportPath: modulePath + "/internal/yamltree", Name: "yamltree", Imports: []string{"strings", "gopkg.in/yaml.v3"}}
	if got := violations(&allowed); len(got) != 0 {
		t.Error(got)
	}
}

// TestStandardOnly builds a module that imports one package of the core, with an empty
// module cache and no proxy, so that go mod tidy fails if the import costs a requirement.
func TestStandardOnly(t *testing.T) {
	t.Parallel()
	for _, rel := range standardOnly {
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			if out, err := tidyImporter(t, modulePath+"/"+rel); err != nil {
				t.Errorf("an importer of %s needs more than the standard library: %v\n%s", rel, err, out)
			}
		})
	}
	t.Run("the check can fail", func(t *testing.T) {
		t.Parallel()
		if _, err := tidyImporter(t, modulePath+"/ratelimit/config"); err == nil {
			t.Error("tidy did not miss the YAML library of ratelimit/config")
		}
	})
}

// tidyImporter runs go mod tidy in a new module that imports a package from this checkout.
func tidyImporter(t *testing.T, importPath string) (string, error) {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/importer\n\ngo 1.26\n\nrequire " + modulePath + " v0.0.0\n\nreplace " + modulePath + " => " + root + "\n",
		"main.go": "package main\n\nimport _ \"" + importPath + "\"\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMODCACHE="+t.TempDir(), "GOPROXY=off", "GOFLAGS=-modcacherw", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestEscapes reports escape sequences of terminals beside those of cmd/internal/cli, which writes none
// into files and none against NO_COLOR.
func TestEscapes(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"cmd/internal/cli/terminal.go", "cmd/internal/cli/progress.go",
		"cmd/ratelimit-check/internal/replay/text.go", // a library, whose caller says whether there are colors
	}
	escape := regexp.MustCompile(`\\x1b|\\033|\\u001b|"\\r%`)
	var found []string
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if escape.Match(source) {
				found = append(found, strings.TrimPrefix(p.ImportPath, modulePath+"/")+"/"+name)
			}
		}
	}
	slices.Sort(found)
	slices.Sort(allowed)
	if !slices.Equal(found, allowed) {
		t.Errorf("files with escape sequences are %q, want %q: use cli.Paint and cli.Progress", found, allowed)
	}
}

// TestNoGlobalState reports init functions, package variables that hold locks, atomics or
// channels, and package variables that code assigns to.
func TestNoGlobalState(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		var files []*ast.File
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		for _, pos := range globalState(fset, files) {
			t.Errorf("%s: package-level state: make it a field of a value", fset.Position(pos))
		}
	}
}

func TestGlobalStateRules(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		"func init() {}":                               1,
		"var mu sync.Mutex":                            1,
		"var n = new(atomic.Int64)":                    1,
		"var c = make(chan int)":                       1,
		"var n int\nfunc f() { n++ }":                  1,
		"var n int\nfunc f() { n = 1 }":                1,
		"var m = map[int]int{}\nfunc f() { m[1]=2 }":   1,
		"var n int\nfunc f() { n := 2; n = 3; _ = n }": 0,
		"var n = 3\nfunc f() int { return n }":         0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(globalState(fset, []*ast.File{file})); got != want {
			t.Errorf("%q: %d findings, want %d", source, got, want)
		}
	}
}

// globalState returns the positions of package-level state in the files of one package.
func globalState(fset *token.FileSet, files []*ast.File) []token.Pos {
	var found []token.Pos
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found = append(found, f.Pos())
			}
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, spec := range g.Specs {
					if holdsState(spec.(*ast.ValueSpec)) {
						found = append(found, spec.Pos())
					}
				}
			}
		}
	}
	uses := resolve(fset, files)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			var targets []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				targets = n.Lhs
			case *ast.IncDecStmt:
				targets = []ast.Expr{n.X}
			}
			for _, target := range targets {
				if object := uses[root(target)]; object != nil && object.Pkg() != nil && object.Parent() == object.Pkg().Scope() {
					found = append(found, target.Pos())
				}
			}
			return true
		})
	}
	return found
}

// resolve returns what the identifiers of a package stand for. Imports stay unresolved.
func resolve(fset *token.FileSet, files []*ast.File) map[*ast.Ident]types.Object {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := &types.Config{Error: func(error) {}, Importer: noImports{}}
	_, _ = conf.Check("p", fset, files, info)
	return info.Uses
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

// holdsState reports whether a declaration outside of functions has a lock, an atomic or a channel.
func holdsState(spec *ast.ValueSpec) bool {
	state := false
	ast.Inspect(spec, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ChanType:
			state = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "atomic" || x.Name == "sync" && slices.Contains([]string{"Mutex", "RWMutex", "Map", "Once", "Pool"}, n.Sel.Name)) {
				state = true
			}
		}
		return true
	})
	return state
}

// root returns the variable that an assignment changes.
func root(target ast.Expr) *ast.Ident {
	for {
		switch x := target.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			target = x.X
		case *ast.SelectorExpr:
			target = x.X
		case *ast.ParenExpr:
			target = x.X
		default:
			return nil
		}
	}
}

// TestNoPrivateKeys reports private keys among the files that git tracks: tests create theirs.
func TestNoPrivateKeys(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`-----BEGIN ([A-Z]+ )*PRIVATE KEY-----(\\n|\s)+[A-Za-z0-9+/:]{16}`)
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("needs a git checkout: %v", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not committed yet
		}
		if strings.HasSuffix(name, ".key") || key.Match(text) {
			t.Errorf("%s is a private key or contains one", name)
		}
	}
}
