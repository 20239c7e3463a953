package drift_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDriftOutput: output that cannot be compared is refused with its line, and a name of two devices is asked for.
func TestDriftOutput(t *testing.T) {
	t.Parallel()
	g := start(t)
	for _, name := range []string{"Here", "There"} {
		at := g.Create("/locations", object{"name": name})["id"]
		g.Create("/devices", object{"hostname": "sw2", "location_id": at})
	}
	sw1 := g.Create("/devices", object{"hostname": "sw1"})["id"]
	g.Create("/interfaces", object{"device_id": sw1, "name": "eth0", "mtu": 1500})
	g.Create("/interfaces", object{"device_id": sw1, "name": "eth1"})
	for _, row := range []struct {
		why, device, text string
		status            int
		want              []string
	}{
		{"no device", "", "x", 400, []string{"Name the device"}},
		{"an unknown device", "frob", "x", 400, []string{`"frob"`}},
		{"an unknown id", "00000000-0000-7000-8000-000000000000", "x", 400, []string{"No device"}},
		{"no id", strings.Repeat("-", 36), "x", 400, []string{"No device"}},
		{"two devices", "sw2", "x", 400, []string{"2 devices have the name", "sw2, Here", "sw2, There"}},
		{"no output", "sw1", " ", 400, []string{"Paste the output"}},
		{"no neighbours", "sw1", "hello", 400, []string{"has no neighbours"}},
		{"no local interface", "sw1", "\nChassis id: 001a.2b3c.4d5e\nPort id: 1\nSystem Name: sw2\n", 400, []string{"line ", "without a local interface"}},
		{"broken JSON", "sw1", "[\n{\"interface\": \"eth0\"},\n]", 400, []string{"line 3: invalid character"}},
		{"a row without a name", "sw1", "[\n{\"interface\": \"eth0\", \"mtu\": 1500},\n\n{\"mtu\": 1}]", 400, []string{"line 4: "}},
		{"differences", "SW1", `[{"interface": "eth0", "mtu": 9000}, {"interface": "eth2"}]`, 400, nil},
		{"differences", "sw1", `[{"interface": "eth0", "mtu": 9000}, {"interface": "eth2"}]`, 200, []string{"3 differences", "Takes over what the device reports.", "<td>1500</td><td>9000</td>", "Deletes the interface", "Creates the interface"}},
		{"the inventory", "sw1", `{"get_interfaces": {"eth0": {"mtu": 1500}, "eth1": {}}}`, 200, []string{"No differences"}},
	} {
		status, text := g.Form("root", "/drift", "step", "compare", "device", row.device, "text", row.text)
		require.Equal(t, row.status, status, "%s: %s", row.why, text)
		for _, want := range row.want {
			require.Contains(t, text, want, row.why)
		}
	}
	status, text := g.Form("root", "/drift", "step", "apply", "device", "sw1", "apply", "frob", "text", `[{"interface": "eth0"}]`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "Compare again")
	status, text = g.Form("root", "/drift", "step", "preview", "device", "sw1", "text", `[{"interface": "eth0"}]`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "at least one")
}
