package deploytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const alertsPath, dashboardPath = "cmd/ratelimitd/deploy/alerts.yaml", "cmd/ratelimitd/deploy/dashboard.json"

// TestAlerts checks the alerts with promtool, that each has a test in testdata, a severity, a
// runbook and a row on the page, and the configuration of the compose file.
func TestAlerts(t *testing.T) {
	t.Parallel()
	tool(t, checkout, "promtool", "check", "rules", alertsPath)
	tool(t, "testdata", "promtool", "test", "rules", "alerts_test.yaml")
	dir := t.TempDir()
	for name, from := range map[string]string{"prometheus.yml": composeDir + "/prometheus.yml", "alerts.yaml": alertsPath} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(read(t, from)), 0o600))
	}
	tool(t, dir, "promtool", "check", "config", "prometheus.yml")
	for _, rule := range at(documents(t, read(t, alertsPath))[0], "groups 0 rules").([]any) {
		name := fmt.Sprint(at(rule, "alert"))
		require.Contains(t, read(t, "cmd/internal/deploytest/testdata/alerts_test.yaml"), "alertname: "+name+"\n")
		require.Contains(t, ratelimitd().page(t).Content(), "\n| "+name+" |")
		require.Contains(t, []any{"critical", "warning", "info"}, at(rule, "labels severity"), name)
		require.NotNil(t, at(rule, "annotations summary"), name)
		require.NoError(t, readPage(t, "README.md").Follow(fmt.Sprint(at(rule, "annotations runbook_url")), os.DirFS(checkout)), name)
	}
}

// TestDashboard checks the expressions of the dashboard with promtool, and its panels.
func TestDashboard(t *testing.T) {
	t.Parallel()
	rules, ids := "groups:\n- name: dashboard\n  rules:\n", map[any]bool{}
	for _, panel := range at(documents(t, read(t, dashboardPath))[0], "panels").([]any) {
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
}
