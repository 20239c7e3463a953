package deploytest_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const composeDir = "deploy/compose"

// The structs here are the fields of a compose file that are in use, as those of manifest_test.go.

type composeFile struct {
	Name     string                    `yaml:"name"`
	Hardened yaml.Node                 `yaml:"x-hardened"`
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]struct{}       `yaml:"volumes"`
}

type composeService struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	User      string `yaml:"user"`
	DependsOn map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Tmpfs       []string          `yaml:"tmpfs"`
	Healthcheck *struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Timeout  string   `yaml:"timeout"`
		Retries  int      `yaml:"retries"`
	} `yaml:"healthcheck"`
	Restart     string   `yaml:"restart"`
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	MemLimit    string   `yaml:"mem_limit"`
}

func parseCompose(text string) (*composeFile, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	file := &composeFile{}
	return file, decoder.Decode(file)
}

// readCompose returns compose.yaml.
func readCompose(t *testing.T) *composeFile {
	t.Helper()
	file, err := parseCompose(read(t, composeDir+"/compose.yaml"))
	require.NoError(t, err)
	return file
}

// checkCompose reports faults of a compose file with the names of the secrets in .env.example.
func checkCompose(text string, secrets []string) (faults []string) {
	file, err := parseCompose(text)
	if err != nil {
		return []string{err.Error()}
	}
	used := []string{}
	for _, found := range regexp.MustCompile(`\$\{(\w+)[^}]*\}`).FindAllStringSubmatch(text, -1) {
		used = append(used, found[1])
		if !strings.HasPrefix(found[0], "${"+found[1]+":?") {
			faults = append(faults, found[0]+": starts without a value: use ${"+found[1]+":?...}")
		}
	}
	slices.Sort(used)
	if !slices.Equal(slices.Compact(used), slices.Sorted(slices.Values(secrets))) {
		faults = append(faults, fmt.Sprintf("uses the secrets %v, .env.example has %v", slices.Compact(used), secrets))
	}
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		service := file.Services[name]
		for _, fault := range slices.Concat(checkContainment(&service), file.checkService(&service)) {
			faults = append(faults, name+": "+fault)
		}
	}
	return faults
}

// checkContainment reports what a service lacks to contain its processes.
func checkContainment(s *composeService) (faults []string) {
	for fault, bad := range map[string]bool{
		"image without a version":                  !regexp.MustCompile(`^[\w./-]+:v?\d+\.\d+(\.\d+)?(-\w+)?$`).MatchString(s.Image),
		"the image is writable":                    !s.ReadOnly,
		"has capabilities":                         !slices.Equal(s.CapDrop, []string{"ALL"}),
		"may gain privileges":                      !slices.Contains(s.SecurityOpt, "no-new-privileges:true"),
		"has no memory limit":                      s.MemLimit == "",
		"does not restart":                         s.Restart == "",
		"needs a numeric user other than root":     s.Build.Dockerfile == "" && !regexp.MustCompile(`^[1-9]\d*:\d+$`).MatchString(s.User),
		"the Dockerfile decides the user":          s.Build.Dockerfile != "" && s.User != "",
		"has no health check":                      s.Build.Dockerfile == "" && (s.Healthcheck == nil || len(s.Healthcheck.Test) < 2),
		"its image has no program to check health": s.Build.Dockerfile != "" && s.Healthcheck != nil,
	} {
		if bad {
			faults = append(faults, fault)
		}
	}
	for _, port := range s.Ports {
		if !regexp.MustCompile(`^127\.0\.0\.1:\d+:\d+$`).MatchString(port) {
			faults = append(faults, "port "+port+" is published beyond the loopback interface")
		}
	}
	for name, value := range s.Environment {
		if regexp.MustCompile(`(PASSWORD|SECRET|_AUTH|TOKEN)$`).MatchString(name) && !strings.HasPrefix(value, "${") {
			faults = append(faults, "secret "+name+" is in the file")
		}
	}
	return faults
}

// checkService reports names that a service uses and that do not exist.
func (f *composeFile) checkService(s *composeService) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if s.Build.Dockerfile != "" && (path.Join(composeDir, s.Build.Context) != "." || !exists(s.Build.Dockerfile)) {
		fault("build: there is no %s in %s", s.Build.Dockerfile, s.Build.Context)
	}
	for name, on := range s.DependsOn {
		target, ok := f.Services[name]
		if !ok || on.Condition == "service_healthy" && target.Healthcheck == nil {
			fault("depends on %s, which can't be %s", name, on.Condition)
		}
	}
	for _, volume := range s.Volumes {
		source, _, _ := strings.Cut(volume, ":")
		_, named := f.Volumes[source]
		switch {
		case strings.HasPrefix(source, "."):
			if !exists(path.Join(composeDir, source)) {
				fault("volume %s: there is no such file", source)
			}
			if !strings.HasSuffix(volume, ":ro") {
				fault("volume %s is writable", source)
			}
		case !named:
			fault("volume %s is not declared", source)
		}
	}
	return faults
}

// mounted returns the path in the repository of a file in a container.
func (s *composeService) mounted(file string) string {
	for _, volume := range s.Volumes {
		source, target, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		if rest, ok := strings.CutPrefix(file, target); ok && strings.HasPrefix(source, ".") && (rest == "" || rest[0] == '/') {
			return path.Join(composeDir, source, rest)
		}
	}
	return ""
}

// secrets returns values for the names in .env.example, which must have none.
func secrets(t *testing.T) map[string]string {
	t.Helper()
	filled := environment(strings.Split(read(t, composeDir+"/.env.example"), "\n"))
	for name, value := range filled {
		require.Empty(t, value, name)
		filled[name] = strings.Repeat("0123456789abcdef", 3)
	}
	require.Contains(t, read(t, composeDir+"/.gitignore"), ".env\n")
	return filled
}

func TestCompose(t *testing.T) {
	t.Parallel()
	report(t, checkCompose(read(t, composeDir+"/compose.yaml"), slices.Collect(maps.Keys(secrets(t)))))
	report(t, readPage(t, composeDir+"/README.md").CheckLinks(os.DirFS(checkout)))
}

// TestComposeSettings checks that both servers accept their settings, and that what they need is in
// the container.
func TestComposeSettings(t *testing.T) {
	t.Parallel()
	file, filled := readCompose(t), secrets(t)
	each(t, func(t *testing.T, s system) {
		service := file.Services[s.name]
		require.Equal(t, s.dir()+"/deploy/Dockerfile", service.Build.Dockerfile)
		require.Contains(t, read(t, service.Build.Dockerfile), "-t "+service.Image+" ")
		environ := map[string]string{}
		for name, value := range service.Environment {
			environ[name] = regexp.MustCompile(`\$\{(\w+)[^}]*\}`).ReplaceAllStringFunc(value, func(use string) string {
				return filled[regexp.MustCompile(`\w+`).FindString(use)]
			})
		}
		delete(environ, "GOMEMLIMIT")
		warnings, err := s.parse(environ)
		require.NoError(t, err)
		require.Empty(t, warnings)
		for _, port := range service.Ports {
			require.Contains(t, s.ports, path.Ext(strings.ReplaceAll(port, ":", "."))[1:])
		}
	})
	limits := file.Services["ratelimitd"]
	require.Equal(t, composeDir+"/limits", limits.mounted(limits.Environment["RUNTIME_ROOT"]+"/config"))
	require.Equal(t, "redis:6379", limits.Environment["KVSTORE_URL"])
	postgres := file.Services["postgres"].Environment
	require.Contains(t, file.Services["inventoryd"].Environment["DATABASE_URL"],
		"postgres://"+postgres["POSTGRES_USER"]+":"+postgres["POSTGRES_PASSWORD"]+"@postgres:5432/"+postgres["POSTGRES_DB"]+"?")
}

// TestComposePrometheus checks prometheus.yml with the files of its container, and its targets.
func TestComposePrometheus(t *testing.T) {
	t.Parallel()
	file, dir := readCompose(t), t.TempDir()
	service := file.Services["prometheus"]
	for _, name := range []string{"prometheus.yml", "alerts.yaml"} {
		text := read(t, service.mounted("/etc/prometheus/"+name))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.Contains(t, service.Command, "--config.file=/etc/prometheus/prometheus.yml")
	out, err := promtool(t, dir, "check", "config", "prometheus.yml")
	require.NoError(t, err, out)
	require.Contains(t, out, "1 rule files found")

	var config struct {
		Jobs []struct {
			Name    string `yaml:"job_name"`
			Targets []struct{ Targets []string }
		} `yaml:"scrape_configs"`
	}
	text := strings.ReplaceAll(read(t, composeDir+"/prometheus.yml"), "static_configs", "targets")
	require.NoError(t, yaml.Unmarshal([]byte(text), &config))
	have := map[string][]string{}
	for _, job := range config.Jobs {
		for _, group := range job.Targets {
			have[job.Name] = append(have[job.Name], group.Targets...)
		}
	}
	require.Equal(t, "true", file.Services["ratelimitd"].Environment["USE_SCRAPE"])
	require.Equal(t, map[string][]string{
		"ratelimitd": {"ratelimitd:9090"}, // the default port: TestDefaultsOfPorts
		"inventoryd": {"inventoryd" + file.Services["inventoryd"].Environment["PROMETHEUS_ADDR"]},
	}, have)
}

// TestComposeGrafana checks that Grafana finds its data source and the dashboard.
func TestComposeGrafana(t *testing.T) {
	t.Parallel()
	service := readCompose(t).Services["grafana"]
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool           `yaml:"isDefault"`
			Editable                     bool           `yaml:"editable"`
			JSONData                     map[string]any `yaml:"jsonData"`
		}
	}
	strict(t, service.mounted("/etc/grafana/provisioning/datasources/prometheus.yaml"), &sources)
	require.Equal(t, 1, sources.APIVersion)
	require.Len(t, sources.Datasources, 1)
	source := sources.Datasources[0]
	require.Equal(t, []string{"prometheus", "proxy", "http://prometheus:9090"}, []string{source.Type, source.Access, source.URL})
	require.True(t, source.IsDefault, "the dashboard selects the default data source")
	require.Contains(t, readCompose(t).Services, "prometheus")
	list := parseDashboard(t).Templating.List
	require.Equal(t, "datasource", list[0].Type)

	var dashboards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type, Folder    string
			DisableDeletion       bool `yaml:"disableDeletion"`
			AllowUIUpdates        bool `yaml:"allowUiUpdates"`
			UpdateIntervalSeconds int  `yaml:"updateIntervalSeconds"`
			Options               struct{ Path string }
		}
	}
	strict(t, service.mounted("/etc/grafana/provisioning/dashboards/dashboards.yaml"), &dashboards)
	require.Equal(t, 1, dashboards.APIVersion)
	require.Len(t, dashboards.Providers, 1)
	provider := dashboards.Providers[0]
	require.Equal(t, "file", provider.Type)
	require.Equal(t, dashboardPath, service.mounted(provider.Options.Path+"/ratelimitd.json"))
}

// strict decodes a YAML file and rejects unknown fields.
func strict(t *testing.T, name string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into), name)
}

func TestBrokenCompose(t *testing.T) {
	t.Parallel()
	text := read(t, composeDir+"/compose.yaml")
	names := slices.Collect(maps.Keys(secrets(t)))
	for from, broken := range map[string][2]string{
		"redis:7.4.4-bookworm":            {"redis:latest", "redis: image without a version"},
		"  read_only: true\n":             {"", "envoy: the image is writable"},
		"  cap_drop: [ALL]\n":             {"", "grafana: has capabilities"},
		"no-new-privileges:true":          {"no-new-privileges:false", "redis: may gain privileges"},
		"  mem_limit: 512m\n":             {"", "inventoryd: has no memory limit"},
		`user: "472:0"`:                   {`user: "0:0"`, "grafana: needs a numeric user other than root"},
		`"127.0.0.1:3000:3000"`:           {`"3000:3000"`, "inventoryd: port 3000:3000 is published"},
		"./envoy.yaml:":                   {"./envoi.yaml:", "envoy: volume ./envoi.yaml: there is no such file"},
		"config:ro":                       {"config", "ratelimitd: volume ./limits is writable"},
		"- grafana-data:":                 {"- grafana:", "grafana: volume grafana is not declared"},
		"GF_USERS_ALLOW_SIGN_UP: \"false": {"GF_X_PASSWORD: \"x", "grafana: secret GF_X_PASSWORD is in the file"},
		"${JWT_SECRET:?":                  {"${JWT_SECRET:-", "starts without a value"},
		"${ADMIN_PASSWORD:?":              {"${ADMIN:?", "uses the secrets [ADMIN "},
		"inventoryd/deploy/Dockerfile":    {"inventoryd/Dockerfile", "inventoryd: build: there is no cmd/inventoryd/Dockerfile"},
		"      redis:\n        condition": {"      rediss:\n        condition", "ratelimitd: depends on rediss"},
		"condition: service_started":      {"condition: service_healthy", "envoy: depends on ratelimitd, which can't be service_healthy"},
		"    tmpfs: [/data]":              {"    tmpf: [/data]", "field tmpf not found"},
	} {
		finds(t, checkCompose(changed(t, text, from, broken[0]), names), broken[1])
	}
}
