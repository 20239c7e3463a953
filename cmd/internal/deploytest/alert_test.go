package deploytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

const (
	alertsPath    = "cmd/ratelimitd/deploy/alerts.yaml"
	dashboardPath = "cmd/ratelimitd/deploy/dashboard.json"
)

// rule is an alert.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (rules []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, alertsPath)), &file))
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	require.NotEmpty(t, rules)
	return rules
}

// promtool runs the tool promtool of Prometheus.
func promtool(t *testing.T, dir string, args ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, servertest.Find(t, "promtool"), args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func TestAlertsByPromtool(t *testing.T) {
	t.Parallel()
	out, err := promtool(t, checkout, "check", "rules", alertsPath)
	require.NoError(t, err, out)
	out, err = promtool(t, "testdata", "test", "rules", "alerts_test.yaml")
	require.NoError(t, err, out)
}

// TestAlertsAreTested checks that testdata has a test of every alert.
func TestAlertsAreTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/alerts_test.yaml")
	require.NoError(t, err)
	for _, r := range alerts(t) {
		require.Regexp(t, `alertname: `+r.Alert+`\b`, string(text))
	}
}

// TestAlertsOnThePage checks that every alert has a severity, a summary, a runbook and a row in
// OPERATIONS.md.
func TestAlertsOnThePage(t *testing.T) {
	t.Parallel()
	var names, rows []string
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
		require.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NoError(t, markdown.New("", "").Follow(r.Annotations["runbook_url"], os.DirFS(checkout)), r.Alert)
	}
	for _, line := range ratelimitd().page(t).Lines {
		if m := regexp.MustCompile(`^\| (Ratelimitd\w+) \| .{30,} \|$`).FindStringSubmatch(line); m != nil {
			rows = append(rows, m[1])
		}
	}
	require.Equal(t, names, rows)
}

// panel is a panel of a dashboard.
type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, LegendFormat string }
}

// dashboard contains the checked fields of Grafana's model.
type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func parseDashboard(t *testing.T) *dashboard {
	t.Helper()
	d := &dashboard{}
	require.NoError(t, json.Unmarshal([]byte(read(t, dashboardPath)), d))
	return d
}

// expressions returns the expressions of the panels, with variables replaced.
func (d *dashboard) expressions() (all []string) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, filled(target.Expr))
		}
	}
	return all
}

func filled(expr string) string {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "5m")
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, "x")
}

// checkDashboard reports errors that Grafana would show as an empty panel.
func checkDashboard(d *dashboard) (faults []string) {
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("panel %q: ", p.Title)+fmt.Sprintf(format, args...))
		}
		if ids[p.ID] || p.ID == 0 {
			fault("duplicate id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Title == "" || p.Description == "" || len(p.Targets) == 0) {
			fault("needs a title, a description and a target")
		}
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(variables, v[1]) {
					fault("unknown variable %s", v[1])
				}
			}
		}
		if p.GridPos.W <= 0 || p.GridPos.H <= 0 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
			fault("is outside of the grid")
		}
		for _, other := range d.Panels[:i] {
			if p.overlaps(&other) {
				fault("overlaps %q", other.Title)
			}
		}
	}
	return faults
}

func (p *panel) overlaps(other *panel) bool {
	a, b := p.GridPos, other.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	d := parseDashboard(t)
	require.NotEmpty(t, d.UID)
	require.Greater(t, len(d.expressions()), 10)
	report(t, checkDashboard(d))
	for _, v := range d.Templating.List {
		require.Contains(t, []string{"datasource", "query"}, v.Type)
	}
}

// TestDashboardByPromtool checks the expressions of the dashboard as rules.
func TestDashboardByPromtool(t *testing.T) {
	t.Parallel()
	type record struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var records []record
	for i, expr := range parseDashboard(t).expressions() {
		records = append(records, record{fmt.Sprintf("panel:%d", i), expr})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": records}}})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), text, 0o644))
	out, err := promtool(t, dir, "check", "rules", "rules.yaml")
	require.NoError(t, err, out)
}

// TestMetricsExist checks that a server exports every metric and label in the alerts, the dashboard and
// the page.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	shown := scrapeAll(t)
	for _, r := range alerts(t) {
		report(t, shown.lacksOf(alertsPath+": "+r.Alert, r.named()))
	}
	d := parseDashboard(t)
	for _, expr := range d.expressions() {
		n := scan(expr)
		for _, variable := range []string{"domain", "instance", "job"} {
			delete(n.values, variable)
		}
		report(t, shown.lacksOf(dashboardPath+": "+expr, n))
	}
	for _, v := range d.Templating.List {
		if m := regexp.MustCompile(`^label_values\((\w+).*, (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
			report(t, shown.lacksOf(dashboardPath+": "+v.Name, named{metrics: m[1:2], labels: m[2:3]}))
		}
	}
	report(t, checkMetrics(ratelimitd().page(t), shown))
}

// named returns the names in the expression and the summary of an alert.
func (r *rule) named() named {
	n := scan(r.Expr)
	for _, l := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1) {
		n.labels = append(n.labels, l[1])
	}
	return n
}

// checkMetrics reports unknown metrics on a page. In a table of three columns, the second contains the
// labels of the metric in the first.
func checkMetrics(p *markdown.Page, shown *scraped) (faults []string) {
	form := regexp.MustCompile("`((?:ratelimit|certs|process|go|runtime)_[a-z_]+)`")
	for i, line := range p.Lines {
		for _, metric := range form.FindAllStringSubmatch(line, -1) {
			n := named{metrics: []string{metric[1]}}
			if shown.labels[metric[1]] == nil && shown.labels[metric[1]+"_bucket"] != nil {
				n.metrics[0] += "_bucket" // a histogram
			}
			if cells := strings.Split(line, "|"); len(cells) == 5 {
				for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[2], -1) {
					n.labels = append(n.labels, label[1])
				}
			}
			faults = append(faults, shown.lacksOf(fmt.Sprintf("%s:%d", p.Name, i+1), n)...)
		}
	}
	return faults
}
