package deploytest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

// The tests below check that each check reports broken input.

// finds requires that the faults contain a string.
func finds(t *testing.T, faults []string, want string) {
	t.Helper()
	require.Contains(t, strings.Join(faults, "\n"), want)
}

// changed replaces the first occurrence of a string, which must exist.
func changed(t *testing.T, text, from, to string) string {
	t.Helper()
	require.Contains(t, text, from)
	return strings.Replace(text, from, to, 1)
}

func TestBrokenPages(t *testing.T) {
	t.Parallel()
	s := ratelimitd()
	of := func(lines ...string) *markdown.Page {
		return &markdown.Page{Name: "cmd/ratelimitd/OPERATIONS.md", Lines: lines}
	}
	finds(t, checkVariables("p", []string{"", "set REDIS_URLS to"}, s.variables), "p:2: unknown setting REDIS_URLS")
	finds(t, checkVariables("p", []string{"set `PROT` to"}, s.variables), "unknown setting PROT")
	require.Empty(t, checkVariables("p", []string{"set `PORT`, REDIS_URL, USE_STATSD=false; TLS is none"}, s.variables))

	finds(t, checkEnvironments(of("```ini", "REDIS_TIMEOUT=soon", "```"), s.parse), "REDIS_TIMEOUT")
	finds(t, checkEnvironments(of("```ini", "REDIS_TIMEOUTS=1s", "```"), s.parse), "warning: REDIS_TIMEOUTS")
	finds(t, checkEnvironments(of("```ini", "MAIL_HOTS=x", "```"), inventoryd().parse), "warning: MAIL_HOTS")
	finds(t, checkEnvironments(of("```ini", "RATE_LIMIT=x", "```"), inventoryd().parse), "RATE_LIMIT")

	finds(t, checkLimits(of("```yaml", "domain: d", "descriptor: []", "```")), "unknown key 'descriptor'")
	finds(t, checkLimits(of("```yaml", "a: [", "```")), "yaml: ")
	finds(t, checkShape(of("```python", "```")), "unsupported language")
}

func TestBrokenCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"ratelimitd -print-setting":                "ratelimitd has no flag -print-setting",
		"ratelimit-check -explian shop client=bob": "ratelimit-check has no flag -explian",
		"make tabel": "make: there is no target tabel",
		"docker build -f cmd/ratelimitd/Dockerfile .": "docker: there is no cmd/ratelimitd/Dockerfile",
		"go build ./cmd/ratelimiter":                  "go: there is no ./cmd/ratelimiter",
		"curl -f http://127.0.0.1:8080/healthz":       "does not serve /healthz at port 8080",
		"curl -f http://127.0.0.1:8000/healthcheck":   "does not serve /healthcheck at port 8000",
		"a | b":      "write one plain command per line",
		"echo $HOME": "write one plain command per line",
		"wget x":     "unknown program wget",
		"":           "an empty line",
		"ratelimit-client -descriptors 'a=b' -hit 0 'x": "write one plain command per line",
	} {
		p := &markdown.Page{Name: "page.md", Lines: []string{"```sh", command, "```"}}
		finds(t, checkCommands(p, ratelimitd()), want)
	}
	p := &markdown.Page{Name: "page.md", Lines: []string{"```sh", "redis-cli --scan --pattern 'shop_client_*'", "curl -s http://new:6070/rlconfig", "```"}}
	require.Empty(t, checkCommands(p, ratelimitd()))
}

func TestBrokenUnits(t *testing.T) {
	t.Parallel()
	s := ratelimitd()
	good := read(t, "cmd/ratelimitd/deploy/ratelimitd.service")
	for _, c := range []struct{ from, to, want string }{
		{"NoNewPrivileges=yes\n", "", "NoNewPrivileges is []"},
		{"ProtectSystem=strict", "ProtectSystem=full", `ProtectSystem is ["full"]`},
		{"UMask=0077", "UMask=0077\nUMask=0022", `UMask is ["0077" "0022"]`},
		{"/usr/local/bin/ratelimitd", "/usr/local/bin/ratelimiter", "ExecStart does not run /usr/local/bin/ratelimitd"},
		{"RUNTIME_WATCH_ROOT=false", "RUNTIME_WATCH_ROOT=no way", "Environment: RUNTIME_WATCH_ROOT"},
		{"RUNTIME_WATCH_ROOT=false", "RUNTIME_WATCH_ROUTE=false", "warning: RUNTIME_WATCH_ROUTE"},
		{"KillSignal=SIGTERM", "ExecReload=/bin/kill -HUP $MAINPID", "ExecReload: "},
		{"OPERATIONS.md\nWants", "OPERATION.md\nWants", "Documentation: stat cmd/ratelimitd/OPERATION.md: "},
		{"SystemCallFilter=@system-service", "SystemCallFilter=@known", "SystemCallFilter"},
		{"[Service]", "", "ExecStart does not run"},
		{"Type=exec", "Type exec", "is not Key=value"},
	} {
		finds(t, checkUnit("cmd/ratelimitd/deploy/ratelimitd.service", changed(t, good, c.from, c.to), s), c.want)
	}
}

func TestBrokenDockerfiles(t *testing.T) {
	t.Parallel()
	s := ratelimitd()
	good := read(t, "cmd/ratelimitd/deploy/Dockerfile")
	for _, c := range []struct{ from, to, want string }{
		{"static-debian12:nonroot", "static-debian12", "has no version tag"},
		{"golang:1.26-bookworm", "golang:latest", "has no version tag"},
		{"golang:1.26-bookworm", "golang:1.21-bookworm", "go.mod requires a newer version"},
		{"USER 65532:65532", "USER root", `USER "root"`},
		{"USER 65532:65532", "", `USER ""`},
		{"USER 65532:65532", "USER 0", `USER "0"`},
		{"COPY go.mod go.sum ./", "COPY go.mod go.work ./", "COPY go.work: not in the repository"},
		{"--from=build", "--from=builder", "unknown stage"},
		{"CGO_ENABLED=0", "CGO_ENABLED=1", "CGO_ENABLED is not 0"},
		{"GOPROXY=off go build", "go build", "the build may download modules"},
		{"./cmd/ratelimitd\n", "./cmd/ratelimiter\n", "no RUN builds ./cmd/ratelimitd"},
		{"EXPOSE 8080 8081", "EXPOSE 80 8081", "the default ports are"},
		{"RUN go mod download", "RUN curl x | sh", "downloads an unpinned file"},
		{"WORKDIR /src", "ADD https://example.com/x /", "ADD: unexpected instruction"},
		{`ENTRYPOINT ["/usr/local/bin/ratelimitd"]`, `ENTRYPOINT ratelimitd`, "ENTRYPOINT must be"},
		{"USER 65532:65532", "USER 65532:65532\nRUN true", "RUN in the last stage"},
	} {
		finds(t, checkDockerfile("Dockerfile", changed(t, good, c.from, c.to), s), c.want)
	}
}

func TestBrokenManifests(t *testing.T) {
	t.Parallel()
	s := ratelimitd()
	good := read(t, "cmd/ratelimitd/deploy/kubernetes.yaml")
	for _, c := range []struct{ from, to, want string }{
		{"readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true", "field readOnlyRootFileSystem not found"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "readOnlyRootFilesystem must be true"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot and runAsUser"},
		{"apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n", `"PodDisruptionBudget" of "policy/v1beta1"`},
		{"kind: Service\n", "kind: Sevice\n", `"Sevice" of "v1"`},
		{"selector:\n    app.kubernetes.io/name: ratelimitd", "selector:\n    app.kubernetes.io/name: other", "Service selects app.kubernetes.io/name=other"},
		{"port: http\n            periodSeconds: 2", "port: web\n            periodSeconds: 2", `readinessProbe: unknown port "web"`},
		{"path: /healthcheck", "path: /healthz", `readinessProbe: the program does not serve "/healthz"`},
		{"path: /\n              port: debug", "path: /healthcheck\n              port: http", "a restart does not repair"},
		{"targetPort: grpc", "targetPort: rpc", `Service: unknown port "rpc"`},
		{"containerPort: 8081", "containerPort: 8082", "the program listens on"},
		{"memory: 512Mi", "cpu: 1", "a limit of memory"},
		{"image: ratelimitd:0.1.0", "image: ratelimitd:latest", "has no version tag"},
		{"KVSTORE_TIMEOUT: 500ms", "KVSTORE_TIMEOUT: half a second", "environment: KVSTORE_TIMEOUT"},
		{"KVSTORE_TIMEOUT: 500ms", "KVSTORE_TIMEOUTS: 500ms", "warning: KVSTORE_TIMEOUTS"},
		{"configMapRef:\n                name: ratelimitd", "configMapRef:\n                name: other", "unknown ConfigMap other"},
		{"configMap:\n            name: ratelimitd-limits", "configMap:\n            name: other", "volume limits: unknown ConfigMap"},
		{"replicas: 2", "replicas: 1", "one server must stay available"},
	} {
		finds(t, checkManifest("kubernetes.yaml", changed(t, good, c.from, c.to), s), c.want)
	}
}

func TestBrokenDashboards(t *testing.T) {
	t.Parallel()
	good := func() *dashboard { return parseDashboard(t) }
	d := good()
	d.Panels[2].ID = d.Panels[1].ID
	finds(t, checkDashboard(d), "duplicate id")
	d = good()
	d.Panels[1].Targets[0].Expr += ` + x{job="$jobs"}`
	finds(t, checkDashboard(d), "unknown variable jobs")
	d = good()
	d.Panels[2].GridPos.X--
	finds(t, checkDashboard(d), "overlaps")
	d = good()
	d.Panels[3].GridPos.W = 25
	finds(t, checkDashboard(d), "outside of the grid")
	d = good()
	d.Panels[1].Description = ""
	finds(t, checkDashboard(d), "needs a title, a description")
}

func TestMissingMetrics(t *testing.T) {
	t.Parallel()
	s := &scraped{map[string]map[string][]string{}}
	s.add("# HELP calls x\n# TYPE calls counter\ncalls{method=\"a\",zone=\"n\\\"orth\"} 1\ncalls{method=\"b\"} 2\nidle 0\n")
	require.Empty(t, s.lacks(scan(`rate(calls{job="x",method="b"}[5m]) / on (instance, method) idle or up`)))
	require.Equal(t, []string{"unknown metric call"}, s.lacks(scan(`call`)))
	require.Equal(t, []string{"none of its metrics has a label methods"}, s.lacks(scan(`sum by (methods) (calls)`)))
	require.Equal(t, []string{"no label method has the value c"}, s.lacks(scan(`calls{method="c"}`)))
	require.Equal(t, []string{"no metric matches cal"}, s.lacks(scan(`{__name__=~"cal"}`)))
	require.Empty(t, s.lacks(scan(`{__name__=~"cal.+"}`)))

	s.add("ratelimit_time_bucket{le=\"1\"} 1\nratelimit_calls{method=\"a\"} 1\n")
	page := &markdown.Page{Name: "page.md", Lines: []string{"`ratelimit_time` and `ratelimit_call`", "| `ratelimit_calls` | `zone` | x |", "| `ratelimit_calls` | `method` | x |"}}
	require.Equal(t, []string{
		"page.md:1: unknown metric ratelimit_call", "page.md:2: none of its metrics has a label zone",
	}, checkMetrics(page, s))
}
