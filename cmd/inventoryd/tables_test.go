package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/inventory/server"
)

var update = flag.Bool("update", false, "write the tables of settings and metrics in OPERATIONS.md")

// TestTables checks that the page of the inventory has the settings and metrics of the program.
func TestTables(t *testing.T) {
	t.Parallel()
	rows := map[string]string{"settings": "| Variable, flag | Default | Meaning |\n", "metrics": "| Metric | Labels | Meaning |\n"}
	for name := range rows {
		rows[name] += "|---|---|---|\n"
	}
	for _, v := range server.Table() {
		var names []string
		if v.Env != "" {
			names = append(names, "`"+v.Env+"`")
		}
		if v.Flag != "" {
			names = append(names, "`-"+v.Flag+"`")
		}
		byDefault := v.Default
		if byDefault != "" {
			byDefault = "`" + strings.ReplaceAll(byDefault, ",", ", ") + "`"
		}
		rows["settings"] += fmt.Sprintf("| %s | %s | %s |\n", strings.Join(names, ", "), byDefault, v.Doc)
	}
	for _, m := range server.Metrics() {
		rows["metrics"] += fmt.Sprintf("| `%s` | %s | %s |\n", m.Name, strings.Join(m.Labels, ", "), m.Help)
	}
	p, err := markdown.Read(os.DirFS("../.."), "cmd/inventoryd/OPERATIONS.md")
	require.NoError(t, err)
	want := p.Content()
	for name, table := range rows {
		part := regexp.MustCompile(`(?s)<!-- ` + name + ` -->.*<!-- /` + name + ` -->`)
		require.Regexp(t, part, want)
		want = part.ReplaceAllLiteralString(want, "<!-- "+name+" -->\n\n"+table+"\n<!-- /"+name+" -->")
	}
	if *update {
		require.NoError(t, os.WriteFile("OPERATIONS.md", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, p.Content(), "go test ./cmd/inventoryd -update writes it")
}
