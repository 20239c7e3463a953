package browsertest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestFeatureOfProgram: the feature of a program outside of the module has its place in the navigation, on the home page
// and on the page of a device, where its button works.
func TestFeatureOfProgram(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "inventory-feature")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.FromSlash("../../../examples/inventory-feature")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	send := func(ctx context.Context, method, url, body string) (made map[string]any, err error) {
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		w, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = w.Body.Close() }()
		return made, json.NewDecoder(w.Body).Decode(&made)
	}
	process := servertest.Start(t, program, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} }, func(ctx context.Context, addr string) error {
		_, err := send(ctx, http.MethodGet, "http://"+addr+"/api/devices", "")
		return err
	})
	url := "http://" + process.Addr
	create := func(path, body string) string {
		made, err := send(t.Context(), http.MethodPost, url+"/api"+path, body)
		require.NoError(t, err)
		require.Contains(t, made, "id", path)
		return made["id"].(string)
	}
	device := create("/devices", `{"hostname":"sw1"}`)
	create("/maintenances", `{"device_id":"`+device+`","reason":"new fan"}`)

	page := Open(t, url+"/", nil)
	page.AwaitText(".facts", "In maintenance")
	page.Goto(url + "/maintenance")
	page.AwaitText("main", "new fan")
	page.AwaitText("nav", "Maintenance")
	page.Goto(url + "/r/devices/" + device)
	page.AwaitText("#device-maintenance", "new fan")
	(&consoleServer{t: t}).looks(page, "feature-device")
	page.Submit("#device-maintenance .button")
	page.AwaitText("main", "None")
	page.Goto(url + "/r/devices/" + device)
	page.AwaitText("#device-maintenance", "ended")
	page.Silent()
}
