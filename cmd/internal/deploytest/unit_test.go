package deploytest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// unit is a systemd unit: section, key, values in order.
type unit map[string]map[string][]string

// parseUnit parses a unit without continuation lines.
func parseUnit(text string) (unit, error) {
	u, section := unit{}, ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(name, "]") {
			section = strings.TrimSuffix(name, "]")
			u[section] = map[string][]string{}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" || strings.HasSuffix(line, `\`) {
			return nil, fmt.Errorf("line %d is not Key=value in a section", i+1)
		}
		u[section][key] = append(u[section][key], value)
	}
	return u, nil
}

// last returns the last value of a key of [Service], or "".
func (u unit) last(key string) string {
	values := u["Service"][key]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// hardening returns the settings that every service must have.
func hardening() map[string]string {
	return map[string]string{
		"DynamicUser": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
		"ProtectSystem": "strict", "ProtectHome": "yes", "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectKernelLogs": "yes",
		"ProtectKernelModules": "yes", "ProtectKernelTunables": "yes", "ProtectControlGroups": "yes", "ProtectProc": "invisible",
		"PrivateTmp": "yes", "PrivateDevices": "yes", "PrivateUsers": "yes", "LockPersonality": "yes", "MemoryDenyWriteExecute": "yes",
		"RemoveIPC": "yes", "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes",
		"SystemCallArchitectures": "native", "SystemCallErrorNumber": "EPERM", "UMask": "0077",
	}
}

// checkUnit reports faults of a service.
func checkUnit(name, text string, s system) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, name+": "+fmt.Sprintf(format, args...)) }
	u, err := parseUnit(text)
	if err != nil {
		return []string{name + ": " + err.Error()}
	}
	if !strings.Contains(u.last("ExecStart"), "/usr/local/bin/"+s.name) || len(u["Service"]["ExecStart"]) != 1 {
		fault("ExecStart does not run /usr/local/bin/%s, and nothing else", s.name)
	}
	for key, want := range hardening() {
		if values := u["Service"][key]; len(values) != 1 || values[0] != want {
			fault("%s is %q, and has to be %q, once", key, values, want)
		}
	}
	if !slices.Contains(u["Service"]["SystemCallFilter"], "@system-service") {
		fault("SystemCallFilter does not begin with @system-service")
	}
	if u.last("ExecReload") != "" {
		fault("ExecReload: the program does not reload on a signal")
	}
	for _, link := range u["Unit"]["Documentation"] {
		if err := markdown.New(name, "").Follow(link, os.DirFS(checkout)); err != nil {
			fault("Documentation: %v", err)
		}
	}
	warnings, err := s.parse(environment(u["Service"]["Environment"]))
	if err != nil {
		fault("Environment: %v", err)
	}
	for _, w := range warnings {
		fault("Environment: warning: %s", w)
	}
	return faults
}

func TestUnits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		for _, path := range s.deployed(t, "*.service") {
			report(t, checkUnit(path, read(t, path), s))
		}
	})
}

// TestTimeToStop checks that systemd waits long enough for the shutdown.
func TestTimeToStop(t *testing.T) {
	t.Parallel()
	u, err := parseUnit(read(t, "cmd/ratelimitd/deploy/ratelimitd.service"))
	require.NoError(t, err)
	s, err := settings.Parse(environment(u["Service"]["Environment"]))
	require.NoError(t, err)
	stop, err := time.ParseDuration(u.last("TimeoutStopSec"))
	require.NoError(t, err)
	require.Greater(t, stop, s.ShutdownDrainDelay+s.ShutdownTimeout)
	require.Equal(t, "SIGTERM", u.last("KillSignal"))
	require.Equal(t, "2", u.last("RestartPreventExitStatus"))

	u, err = parseUnit(read(t, "cmd/inventoryd/deploy/inventoryd.service"))
	require.NoError(t, err)
	stop, err = time.ParseDuration(u.last("TimeoutStopSec"))
	require.NoError(t, err)
	require.Greater(t, stop, 20*time.Second, "the shutdown timeout of httpx.Serve")
}

// TestBackupUnit checks that the backup uses the database and the user of the service, and a writable
// directory, and that the timer starts it.
func TestBackupUnit(t *testing.T) {
	t.Parallel()
	service, err := parseUnit(read(t, "cmd/inventoryd/deploy/inventoryd.service"))
	require.NoError(t, err)
	backup, err := parseUnit(read(t, "cmd/inventoryd/deploy/inventoryd-backup.service"))
	require.NoError(t, err)
	for _, key := range []string{"User", "Environment", "EnvironmentFile", "StateDirectoryMode"} {
		require.NotEmpty(t, service["Service"][key], key)
		require.Equal(t, service["Service"][key], backup["Service"][key], key)
	}
	require.Regexp(t, `inventoryd backup "/var/lib/inventoryd/backup/`, backup.last("ExecStart"))
	require.Contains(t, strings.Fields(backup.last("StateDirectory")), "inventoryd/backup")
	require.True(t, strings.HasPrefix(environment(service["Service"]["Environment"])["DATABASE_URL"], "/var/lib/"+service.last("StateDirectory")+"/"))
	timer, err := parseUnit(read(t, "cmd/inventoryd/deploy/inventoryd-backup.timer"))
	require.NoError(t, err)
	require.NotEmpty(t, timer["Timer"]["OnCalendar"])
	require.Equal(t, []string{"timers.target"}, timer["Install"]["WantedBy"])
	require.False(t, slices.Contains(timer["Timer"]["Unit"], ""), "without Unit= it is the service of the same name")
}

// TestUnitsBySystemd verifies the units and their exposure with systemd-analyze.
func TestUnitsBySystemd(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		// Not servertest.Find: it comes with systemd alone, and checkUnit runs everywhere.
		t.Skip("THIS TEST DID NOT RUN: it needs systemd-analyze on the PATH, and there is none")
	}
	dir := t.TempDir()
	var services, all []string
	for _, s := range systems() {
		for _, path := range append(s.deployed(t, "*.service"), globbed(s, "*.timer")...) {
			// It looks whether programs are there; ours is not installed.
			text := strings.ReplaceAll(read(t, path), "/usr/local/bin/"+s.name, servertest.Find(t, "true"))
			copied := filepath.Join(dir, filepath.Base(path))
			require.NoError(t, os.WriteFile(copied, []byte(text), 0o644))
			all = append(all, copied)
			if strings.HasSuffix(path, ".service") {
				services = append(services, copied)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append([]string{"verify", "--man=no"}, all...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
	for _, path := range services {
		// Of ten points of exposure, in tenths.
		out, err := exec.CommandContext(ctx, program, "security", "--offline=true", "--no-pager", "--threshold=15", path).CombinedOutput()
		if regexp.MustCompile(`(?i)unrecognized option|unknown`).Match(out) {
			t.Log("systemd-analyze is too old to tell the exposure of a file")
			continue
		}
		require.NoError(t, err, "%s", out)
	}
}
