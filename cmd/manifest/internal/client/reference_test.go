package client_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/client"
	"github.com/ashlar-go/ashlar/manifest"
)

// The table of REFERENCE.md, 11, lists the programs with their files and transports.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../manifest/REFERENCE.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## 11 ")
	require.True(t, found)
	var rows [][]string
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 7 && strings.HasPrefix(cells[1], "`") {
			rows = append(rows, cells)
		}
	}
	require.Len(t, rows, len(client.Programs()))
	for i, p := range client.Programs() {
		project, remotes := "-", "no"
		if p.Project != "" {
			project = "`" + p.Project + "`"
		}
		var transports []string
		for _, transport := range []manifest.TransportType{manifest.StreamableHTTP, manifest.SSE} {
			e, err := p.Entry(&client.Server{Name: "x", Remote: &manifest.Remote{Type: transport, URL: "https://example.com/"}})
			if err == nil && e.URL != "" {
				transports = append(transports, string(transport))
			}
		}
		if transports != nil {
			remotes = strings.Join(transports, ", ")
		}
		want := []string{"| " + p.Title, "`" + p.ID + "`", project, "`" + p.File("linux", "~", "") + "`", remotes, p.Checked + " |"}
		require.Equal(t, want, slices.Delete(slices.Clone(rows[i]), 4, 5))
	}
}
