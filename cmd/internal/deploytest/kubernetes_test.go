package deploytest_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

func TestManifests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		name := s.dir() + "/deploy/kubernetes.yaml"
		report(t, checkManifest(name, read(t, name), s))
	})
}

// checkManifest reports faults of a manifest.
func checkManifest(name, text string, s system) (faults []string) {
	m, err := parseManifest(text)
	if err != nil {
		return []string{name + ": " + err.Error()}
	}
	c := &manifestCheck{manifest: m, system: s}
	if len(m.deployment.Template.Spec.Containers) != 1 {
		return []string{name + ": there is no Deployment of one container"}
	}
	c.container = &m.deployment.Template.Spec.Containers[0]
	c.labels()
	c.security()
	c.ports()
	c.resources()
	c.environment()
	for _, fault := range c.faults {
		faults = append(faults, name+": "+fault)
	}
	return faults
}

type manifestCheck struct {
	*manifest
	system
	container *container
	faults    []string
}

func (c *manifestCheck) fault(found bool, format string, args ...any) {
	if found {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// labels checks that all selectors match the pods of the Deployment.
func (c *manifestCheck) labels() {
	pod := c.deployment.Template.Metadata.Labels
	selectors := map[string]map[string]string{
		"Deployment": c.deployment.Selector.MatchLabels, "Service": c.service.Selector, "PodDisruptionBudget": c.budget.Selector.MatchLabels,
	}
	for _, spread := range c.deployment.Template.Spec.TopologySpreadConstraints {
		selectors["topologySpreadConstraints"] = spread.LabelSelector.MatchLabels
	}
	for who, labels := range selectors {
		c.fault(len(labels) == 0, "%s selects nothing", who)
		for name, value := range labels {
			c.fault(pod[name] != value, "%s selects %s=%s, and the pods have %q", who, name, value, pod[name])
		}
	}
	sorted := slices.Sorted(slices.Values(c.names))
	c.fault(len(slices.Compact(sorted)) != len(c.names), "duplicate name: %v", sorted)
	c.fault(c.deployment.Replicas < 2 || c.budget.MaxUnavailable >= c.deployment.Replicas, "one server must stay available during a disruption")
}

// security checks that the container does not run as root and has a read-only file system.
func (c *manifestCheck) security() {
	pod := &c.deployment.Template.Spec
	c.fault(!pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.RunAsUser == 0, "runAsNonRoot and runAsUser must be set")
	c.fault(pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault", "seccompProfile must be RuntimeDefault")
	c.fault(pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken, "automountServiceAccountToken must be false")
	c.fault(pod.EnableServiceLinks == nil || *pod.EnableServiceLinks, "enableServiceLinks must be false: their variables look like settings")
	s := &c.container.SecurityContext
	c.fault(!s.ReadOnlyRootFilesystem, "readOnlyRootFilesystem must be true")
	c.fault(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, "allowPrivilegeEscalation must be false")
	c.fault(!slices.Equal(s.Capabilities.Drop, []string{"ALL"}), "capabilities: drop ALL")
	c.fault(!regexp.MustCompile(`^[\w./-]+:\d+\.\d+\.\d+$`).MatchString(c.container.Image), "image %q has no version tag", c.container.Image)
}

// ports checks that the ports are those of the program, and that all references to ports are valid.
func (c *manifestCheck) ports() {
	known := map[string]string{}
	for _, p := range c.container.Ports {
		known[p.Name] = strconv.Itoa(p.ContainerPort)
	}
	c.fault(!slices.Equal(slices.Sorted(maps.Values(known)), slices.Sorted(slices.Values(c.system.ports))),
		"ports are %v, and the program listens on %v", known, c.system.ports)
	for _, p := range c.service.Ports {
		c.fault(known[p.TargetPort] == "", "Service: unknown port %q", p.TargetPort)
	}
	probes := map[string]*probe{"readinessProbe": c.container.ReadinessProbe, "livenessProbe": c.container.LivenessProbe, "startupProbe": c.container.StartupProbe}
	for name, p := range probes {
		if p == nil {
			c.fault(name != "startupProbe", "there is no %s", name)
			continue
		}
		c.fault((p.HTTPGet == nil) == (p.TCPSocket == nil), "%s needs exactly one of httpGet and tcpSocket", name)
		if p.HTTPGet != nil {
			c.fault(known[p.HTTPGet.Port] == "", "%s: unknown port %q", name, p.HTTPGet.Port)
			c.fault(!slices.Contains(c.paths, p.HTTPGet.Path), "%s: the program does not serve %q", name, p.HTTPGet.Path)
			c.fault(name == "livenessProbe" && strings.HasPrefix(p.HTTPGet.Path, "/health"), "livenessProbe: a restart does not repair the faults that %s reports", p.HTTPGet.Path)
		}
		if p.TCPSocket != nil {
			c.fault(known[p.TCPSocket.Port] == "", "%s: unknown port %q", name, p.TCPSocket.Port)
		}
	}
	if port := c.deployment.Template.Metadata.Annotations["prometheus.io/port"]; port != "" {
		c.fault(known["metrics"] != port, "prometheus.io/port is %s", port)
	}
}

func (c *manifestCheck) resources() {
	r := &c.container.Resources
	c.fault(r.Requests["cpu"] == "" || r.Requests["memory"] == "" || r.Limits["memory"] == "", "set requests of cpu and memory, and a limit of memory")
	mounted := map[string]bool{}
	for _, v := range c.deployment.Template.Spec.Volumes {
		mounted[v.Name] = true
		c.fault(v.ConfigMap == nil || c.configs[v.ConfigMap.Name] == nil, "volume %s: unknown ConfigMap", v.Name)
	}
	for _, m := range c.container.VolumeMounts {
		c.fault(!mounted[m.Name], "volumeMounts: unknown volume %s", m.Name)
	}
}

// environ returns the environment of the container, with examples for the values of Secrets.
func (c *manifestCheck) environ() map[string]string {
	environ := map[string]string{}
	for _, from := range c.container.EnvFrom {
		if from.ConfigMapRef != nil {
			c.fault(c.configs[from.ConfigMapRef.Name] == nil, "envFrom: unknown ConfigMap %s", from.ConfigMapRef.Name)
			maps.Copy(environ, c.configs[from.ConfigMapRef.Name])
		}
	}
	for _, e := range c.container.Env {
		secret := e.ValueFrom.SecretKeyRef
		c.fault(secret.Name != c.name || secret.Key == "", "env %s does not refer to the Secret %s", e.Name, c.name)
		environ[e.Name] = map[string]string{
			"DATABASE_URL": "postgres://user:password@host/database", "JWT_SECRET": strings.Repeat("0a", 32),
			"MAIL_PASSWORD": "", "ADMIN_PASSWORD": "a long sentence is a good password", "KVSTORE_AUTH": "user:password",
		}[e.Name]
	}
	return environ
}

func (c *manifestCheck) environment() {
	warnings, err := c.parse(c.environ())
	c.fault(err != nil, "environment: %v", err)
	for _, w := range warnings {
		c.fault(true, "environment: warning: %s", w)
	}
}

// TestMountedLimits checks that the mounted limits load from the configured directory.
func TestMountedLimits(t *testing.T) {
	t.Parallel()
	m, err := parseManifest(read(t, "cmd/ratelimitd/deploy/kubernetes.yaml"))
	require.NoError(t, err)
	var files []config.File
	for name, text := range m.configs["ratelimitd-limits"] {
		files = append(files, config.File{Name: name, Data: []byte(text)})
	}
	c, err := config.Parse(files, nil)
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	s, err := settings.Parse(m.configs["ratelimitd"])
	require.NoError(t, err)
	mount := m.deployment.Template.Spec.Containers[0].VolumeMounts[0]
	require.Equal(t, mount.MountPath, path.Join(s.RuntimeRoot, s.RuntimeSubdirectory, s.RuntimeAppDirectory))
	require.False(t, s.RuntimeWatchRoot, "the mount is the directory, and no link")
}

// TestManifestFitsSettings checks that the drain delay and the memory limit are large enough.
func TestManifestFitsSettings(t *testing.T) {
	t.Parallel()
	m, err := parseManifest(read(t, "cmd/ratelimitd/deploy/kubernetes.yaml"))
	require.NoError(t, err)
	s, err := settings.Parse(m.configs["ratelimitd"])
	require.NoError(t, err)
	grace := time.Duration(m.deployment.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	require.Greater(t, grace, s.ShutdownDrainDelay+s.ShutdownTimeout)
	probe := m.deployment.Template.Spec.Containers[0].ReadinessProbe
	require.Greater(t, s.ShutdownDrainDelay, time.Duration(probe.PeriodSeconds*probe.FailureThreshold)*time.Second, "the drain must last until the probe has failed")
	limit := mebibytes(t, m.deployment.Template.Spec.Containers[0].Resources.Limits["memory"])
	require.Greater(t, limit<<20, s.EmbeddedMaxBytes+int64(s.LocalCacheSize)+96<<20, "counters, cache and the rest of the heap")

	m, err = parseManifest(read(t, "cmd/inventoryd/deploy/kubernetes.yaml"))
	require.NoError(t, err)
	pod := m.deployment.Template.Spec
	require.Greater(t, pod.TerminationGracePeriodSeconds, pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds+20)
}

func mebibytes(t *testing.T, quantity string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSuffix(quantity, "Mi"), 10, 64)
	require.NoError(t, err)
	return n
}
