package deploytest_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/internal/servertest"
	inventory "github.com/ashlar-go/ashlar/inventory/server"
)

const (
	composeDir = "deploy/compose"
	// composeGo is the parser of docker compose.
	composeGo = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2"
)

// TestUnits verifies the units with systemd-analyze, which limits their exposure to 1.5 of 10, and
// parses their settings with the programs.
func TestUnits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	verify := []string{"verify", "--man=no"}
	for _, s := range systems() {
		units, err := filepath.Glob(filepath.Join(checkout, s.dir(), "deploy", "*.[st]*[er]"))
		require.NoError(t, err)
		require.NotEmpty(t, units)
		for _, unit := range units {
			name := filepath.Base(unit)
			text := read(t, s.dir()+"/deploy/"+name)
			if strings.HasSuffix(name, ".service") {
				require.Contains(t, text, "/usr/local/bin/"+s.name)
				environ := regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(text, -1)
				for _, line := range environ {
					require.NoError(t, s.parse(environment(line[1:])), name)
				}
			}
			// It checks that programs exist; ours is not installed.
			text = strings.ReplaceAll(text, "/usr/local/bin/"+s.name, servertest.Find(t, "true"))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			verify = append(verify, filepath.Join(dir, name))
		}
	}
	require.Empty(t, tool(t, dir, "systemd-analyze", verify...))
	for _, unit := range verify[2:] {
		if strings.HasSuffix(unit, ".service") {
			tool(t, dir, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15", unit)
		}
	}
}

// TestTimeToStop checks that systemd and Kubernetes wait long enough for the shutdown.
func TestTimeToStop(t *testing.T) {
	t.Parallel()
	stops := func(s system) time.Duration {
		unit := read(t, s.dir()+"/deploy/"+s.name+".service")
		d, err := time.ParseDuration(regexp.MustCompile(`(?m)^TimeoutStopSec=(.*)$`).FindStringSubmatch(unit)[1])
		require.NoError(t, err)
		return d
	}
	const http = 20 * time.Second // the shutdown timeout of httpx.Serve
	of, err := settings.Parse(map[string]string{})
	require.NoError(t, err)
	require.Greater(t, stops(ratelimitd()), of.ShutdownDrainDelay+of.ShutdownTimeout)
	require.Greater(t, stops(inventoryd()), http)

	seconds := func(object any, path string) time.Duration {
		return time.Duration(at(object, path).(int)) * time.Second
	}
	const grace, probe = "spec template spec terminationGracePeriodSeconds", "spec template spec containers 0 readinessProbe "
	objects := kubernetes(t, ratelimitd())
	of, err = settings.Parse(texts(objects["ConfigMap/ratelimitd"], "data"))
	require.NoError(t, err)
	d := objects["Deployment/ratelimitd"]
	require.Greater(t, seconds(d, grace), of.ShutdownDrainDelay+of.ShutdownTimeout)
	require.Greater(t, of.ShutdownDrainDelay, seconds(d, probe+"periodSeconds")*time.Duration(at(d, probe+"failureThreshold").(int)))
	objects = kubernetes(t, inventoryd())
	d = objects["Deployment/inventoryd"]
	in, err := inventory.Parse(texts(objects["ConfigMap/inventoryd"], "data"), nil)
	require.NoError(t, err)
	require.Greater(t, seconds(d, grace), http+in.ShutdownDrainDelay)
	require.Greater(t, in.ShutdownDrainDelay, seconds(d, probe+"periodSeconds")*time.Duration(at(d, probe+"failureThreshold").(int)))
}

// kubernetes returns the objects of the manifest of a program by kind/name.
func kubernetes(t *testing.T, s system) map[string]any {
	t.Helper()
	objects := map[string]any{}
	for _, o := range documents(t, read(t, s.dir()+"/deploy/kubernetes.yaml")) {
		objects[fmt.Sprint(at(o, "kind"), "/", at(o, "metadata name"))] = o
	}
	return objects
}

// TestKubernetes validates the manifests against the schemas of Kubernetes, and checks the
// hardening of the pods, their selectors and ports, and the settings in the ConfigMaps.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		tool(t, checkout, "$ASHLAR_KUBERNETES_VALIDATE", "--strict", "--quiet", s.dir()+"/deploy/kubernetes.yaml")
		objects := kubernetes(t, s)
		const pod, container = "spec template spec ", "spec template spec containers 0 "
		d, label := objects["Deployment/"+s.name], fmt.Sprintf("map[app.kubernetes.io/name:%s]", s.name)
		requireAt(t, d, map[string]string{
			"spec selector matchLabels": label, "spec template metadata labels": label,
			pod + "securityContext runAsNonRoot": "true", pod + "securityContext seccompProfile type": "RuntimeDefault",
			pod + "automountServiceAccountToken": "false", pod + "enableServiceLinks": "false",
			container + "securityContext readOnlyRootFilesystem": "true", container + "securityContext allowPrivilegeEscalation": "false",
			container + "securityContext capabilities drop": "[ALL]",
		})
		requireAt(t, objects["Service/"+s.name], map[string]string{"spec selector": label})
		requireAt(t, objects["PodDisruptionBudget/"+s.name], map[string]string{"spec selector matchLabels": label, "spec maxUnavailable": "1"})
		require.NotNil(t, at(d, container+"resources limits memory"))
		ports := map[any]string{}
		for _, p := range at(d, container+"ports").([]any) {
			ports[at(p, "name")] = fmt.Sprint(at(p, "containerPort"))
		}
		require.Equal(t, s.ports, slices.Sorted(maps.Values(ports)))
		for _, p := range at(objects["Service/"+s.name], "spec ports").([]any) {
			require.Contains(t, ports, at(p, "targetPort"))
		}
		for _, probe := range []string{"readinessProbe", "livenessProbe"} {
			require.Contains(t, ports, cmp.Or(at(d, container+probe+" httpGet port"), at(d, container+probe+" tcpSocket port")), probe)
		}
		require.Contains(t, s.paths, at(d, container+"readinessProbe httpGet path"))
		require.NotRegexp(t, "/health|/ready", fmt.Sprint(at(d, container+"livenessProbe")), "a restart does not repair what it reports")
		require.NoError(t, s.parse(texts(objects["ConfigMap/"+s.name], "data")))
	})
	requireLimits(t, texts(kubernetes(t, ratelimitd())["ConfigMap/ratelimitd-limits"], "data"))
}

// TestKustomize builds the bases and validates what they have. The kind ServiceMonitor is that of the Prometheus operator,
// whose schema is not there.
func TestKustomize(t *testing.T) {
	t.Parallel()
	built := tool(t, checkout, "kubectl", "kustomize", "deploy/kubernetes")
	objects, known := map[string]any{}, ""
	for _, text := range strings.Split(built, "\n---\n") {
		o := documents(t, text)[0]
		objects[fmt.Sprint(at(o, "kind"), "/", at(o, "metadata name"))] = o
		if at(o, "kind") != "ServiceMonitor" {
			known += "---\n" + text + "\n"
		}
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, []byte(known), 0o600))
	tool(t, checkout, "$ASHLAR_KUBERNETES_VALIDATE", "--strict", "--quiet", file)
	each(t, func(t *testing.T, s system) {
		label := fmt.Sprintf("map[app.kubernetes.io/name:%s]", s.name)
		for _, kind := range []string{"Deployment", "Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"} {
			requireAt(t, objects[kind+"/"+s.name], map[string]string{"metadata labels": label})
		}
		requireAt(t, objects["NetworkPolicy/"+s.name], map[string]string{"spec podSelector matchLabels": label})
		requireAt(t, objects["ServiceMonitor/"+s.name], map[string]string{"spec selector matchLabels": label, "spec endpoints 0 targetPort": "metrics"})
		allowed := map[any]bool{}
		for _, rule := range at(objects["NetworkPolicy/"+s.name], "spec ingress").([]any) {
			for _, p := range at(rule, "ports").([]any) {
				allowed[at(p, "port")] = true
			}
		}
		for _, p := range at(objects["Deployment/"+s.name], "spec template spec containers 0 ports").([]any) {
			require.True(t, allowed[at(p, "name")], "nobody may use the port %v", at(p, "name"))
		}
	})
}

// compose returns the compose file as docker compose reads it, with values for the names in
// .env.example, which must have none.
func compose(t *testing.T) any {
	t.Helper()
	text := read(t, composeDir+"/compose.yaml")
	for name, value := range environment(strings.Split(read(t, composeDir+"/.env.example"), "\n")) {
		require.Empty(t, value, name)
		require.Contains(t, text, "${"+name+":?")
		text = regexp.MustCompile(`\$\{`+name+`:\?[^}]*\}`).ReplaceAllString(text, strings.Repeat("0123456789abcdef", 3))
	}
	require.NotContains(t, text, "${")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(text), 0o600))
	out := tool(t, dir, "go", "run", composeGo, "-no-interpolation", "-no-path-resolution", "compose.yaml")
	return documents(t, out[strings.Index(out, "name: "):])[0] // after progress of downloads
}

// TestCompose checks the configuration of Envoy, which the end-to-end tests send requests through, and the hardening
// of the services, their volumes and settings.
func TestCompose(t *testing.T) {
	t.Parallel()
	tool(t, checkout, "$ASHLAR_ENVOY", "--mode", "validate", "-c", composeDir+"/envoy.yaml")
	file := compose(t)
	for name, service := range at(file, "services").(map[string]any) {
		requireAt(t, service, map[string]string{
			"read_only": "true", "cap_drop": "[ALL]", "security_opt": "[no-new-privileges:true]", "restart": "unless-stopped", "mem_limit": "512m",
		})
		require.Regexp(t, `:v?\d+\.\d+(\.\d+)?(-\w+)?$`, at(service, "image"), name)
		if dockerfile := at(service, "build dockerfile"); dockerfile != nil { // which selects the user
			require.Contains(t, read(t, fmt.Sprint(dockerfile)), fmt.Sprint("-t ", at(service, "image"), " "))
		} else {
			require.Regexp(t, `^[1-9]\d*:\d+$`, at(service, "user"), name)
			require.NotNil(t, at(service, "healthcheck test"), name)
		}
		for i := 0; at(service, fmt.Sprint("ports ", i)) != nil; i++ {
			requireAt(t, service, map[string]string{fmt.Sprint("ports ", i, " host_ip"): "127.0.0.1"})
		}
		for i := 0; at(service, fmt.Sprint("volumes ", i)) != nil; i++ {
			if volume := at(service, fmt.Sprint("volumes ", i)); at(volume, "type") == "bind" {
				require.True(t, exists(path.Join(composeDir, fmt.Sprint(at(volume, "source")))), volume)
				require.Equal(t, true, at(volume, "read_only"), volume)
			}
		}
	}
	for _, s := range systems() {
		environ := texts(file, "services "+s.name+" environment")
		delete(environ, "GOMEMLIMIT")
		require.NoError(t, s.parse(environ))
	}
	environ, prometheus := texts(file, "services inventoryd environment"), documents(t, read(t, composeDir+"/prometheus.yml"))[0]
	requireAt(t, prometheus, map[string]string{
		"scrape_configs 0 static_configs 0 targets": "[ratelimitd:" + ratelimitd().ports[3] + "]",
		"scrape_configs 1 static_configs 0 targets": "[inventoryd" + environ["PROMETHEUS_ADDR"] + "]",
	})
	require.Contains(t, environ["DATABASE_URL"], "@postgres:5432/")
	requireAt(t, documents(t, read(t, composeDir+"/grafana/datasources/prometheus.yaml"))[0], map[string]string{"datasources 0 url": "http://prometheus:9090", "datasources 0 isDefault": "true"})
	requireAt(t, documents(t, read(t, composeDir+"/grafana/dashboards/dashboards.yaml"))[0], map[string]string{"providers 0 options path": "/etc/grafana/dashboards"})
}

// TestDockerfiles checks what a build needs from the repository, and that the image has no root.
func TestDockerfiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		text := read(t, s.dir()+"/deploy/Dockerfile")
		version := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
		for _, line := range []string{
			"docker build -f " + s.dir() + "/deploy/Dockerfile ", "FROM golang:" + version + "-bookworm AS build\n", " CGO_ENABLED=0 ", "COPY go.mod go.sum ./\n",
			"RUN GOPROXY=off go build ", " ./" + s.dir() + "\n", "USER 65532:65532\n", `ENTRYPOINT ["/usr/local/bin/` + s.name + `"]`,
		} {
			require.Contains(t, text, line)
		}
		exposed := strings.Fields(regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindStringSubmatch(text)[1])
		require.ElementsMatch(t, s.ports, exposed)
		require.NotRegexp(t, `(?m)^RUN.*(curl|wget|apt-get|apk |@latest|sudo)|^FROM \S+:(latest|debug)`, text)
		for _, pattern := range strings.Fields(read(t, s.dir()+"/deploy/Dockerfile.dockerignore")) {
			require.NotRegexp(t, `\.go$|go\.(mod|sum)|\.sql|cmd|inventory|ratelimit`, pattern)
		}
	})
	require.Contains(t, read(t, "cmd/ratelimitd/deploy/Dockerfile"), "ln -s /usr/local/bin/ratelimitd /out/bin/ratelimit\n", "the command of envoyproxy/ratelimit")
}

// TestAlerts checks the alerts with promtool, that each has a test in testdata, a severity, a
// runbook and a row on the page, and the configuration of the compose file.
func TestAlerts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(read(t, composeDir+"/prometheus.yml")), 0o600))
	for _, s := range systems() {
		alerts, tests := read(t, s.dir()+"/deploy/alerts.yaml"), s.name+"_alerts_test.yaml"
		require.NoError(t, os.WriteFile(filepath.Join(dir, s.name+".yaml"), []byte(alerts), 0o600))
		tool(t, "testdata", "promtool", "test", "rules", tests)
		for _, rule := range at(documents(t, alerts)[0], "groups 0 rules").([]any) {
			name := fmt.Sprint(at(rule, "alert"))
			require.Contains(t, read(t, "cmd/internal/deploytest/testdata/"+tests), "alertname: "+name+"\n")
			require.Contains(t, readPage(t, s.dir()+"/OPERATIONS.md").Content(), "\n| "+name+" |")
			require.Contains(t, []any{"critical", "warning", "info"}, at(rule, "labels severity"), name)
			require.NotNil(t, at(rule, "annotations summary"), name)
			require.NoError(t, readPage(t, "README.md").Follow(fmt.Sprint(at(rule, "annotations runbook_url")), os.DirFS(checkout)), name)
		}
	}
	tool(t, dir, "promtool", "check", "config", "prometheus.yml") // and the rules that it names
}

// TestDashboard checks the expressions of the dashboards with promtool, and their panels.
func TestDashboard(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		rules, ids := "groups:\n- name: dashboard\n  rules:\n", map[any]bool{}
		for _, panel := range at(documents(t, read(t, s.dir()+"/deploy/dashboard.json"))[0], "panels").([]any) {
			require.False(t, ids[at(panel, "id")], "id of %v", at(panel, "title"))
			ids[at(panel, "id")] = true
			targets, _ := at(panel, "targets").([]any)
			require.True(t, at(panel, "type") == "row" || len(targets) > 0 && at(panel, "description") != nil, at(panel, "title"))
			for _, target := range targets {
				expr := strings.ReplaceAll(fmt.Sprint(at(target, "expr")), "$__rate_interval", "5m")
				rules += fmt.Sprintf("  - {record: panel, expr: %q}\n", regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, "x"))
			}
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o600))
		tool(t, dir, "promtool", "check", "rules", "rules.yaml")
	})
}
