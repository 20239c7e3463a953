package browsertest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/browsertest"
)

// campus creates a network of a location: two cores with two links between them, distribution switches with
// a link to each core, and access switches with a link to one of these. It returns the ids by hostname.
func (s *consoleServer) campus(site string, distributions, accesses int) map[string]string {
	s.t.Helper()
	location := s.create("locations", map[string]any{"name": site})
	ids, ports := map[string]string{}, map[string]int{}
	var devices []map[string]any
	add := func(name, role string) {
		status := "active"
		switch {
		case strings.HasSuffix(name, "acc-7"):
			status = "maintenance"
		case strings.HasSuffix(name, "acc-9"):
			status = "offline"
		}
		devices = append(devices, map[string]any{"hostname": name, "role": role, "status": status, "location_id": location})
	}
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%s-%d", strings.ToLower(site), kind, i) }
	add(name("core", 1), "core")
	add(name("core", 2), "core")
	for d := range distributions {
		add(name("dist", d+1), "distribution")
	}
	for a := range accesses {
		add(name("acc", a+1), "access")
	}
	var made struct {
		Results []struct{ ID, Hostname string }
	}
	s.api("POST", "/devices", devices, &made)
	for _, d := range made.Results {
		ids[d.Hostname] = d.ID
	}
	var ends [][2]string
	ends = append(ends, [2]string{name("core", 1), name("core", 2)}, [2]string{name("core", 1), name("core", 2)})
	for d := range distributions {
		ends = append(ends, [2]string{name("core", 1), name("dist", d+1)}, [2]string{name("core", 2), name("dist", d+1)})
	}
	for a := range accesses {
		ends = append(ends, [2]string{name("dist", a%distributions+1), name("acc", a+1)})
	}
	var interfaces, links []map[string]any
	for _, pair := range ends {
		for _, host := range pair {
			ports[host]++
			interfaces = append(interfaces, map[string]any{"device_id": ids[host], "name": fmt.Sprintf("Ethernet1/%d", ports[host])})
		}
	}
	var wired struct{ Results []struct{ ID string } }
	for len(interfaces) > 0 {
		few := interfaces[:min(len(interfaces), 500)]
		interfaces = interfaces[len(few):]
		wired.Results = nil
		s.api("POST", "/interfaces", few, &wired)
		for i := 0; i < len(wired.Results); i += 2 {
			status := "up"
			if len(links)%9 == 4 {
				status = "down"
			}
			links = append(links, map[string]any{"a_interface_id": wired.Results[i].ID, "b_interface_id": wired.Results[i+1].ID, "status": status})
		}
	}
	s.api("POST", "/links", links, nil)
	return ids
}

// count returns the number of nodes of the map.
func count(page *browsertest.Page) (n int) {
	page.Await("#maps-canvas[data-ready]")
	page.Eval(`ashlar.map.cy.nodes().filter((n) => !n.isParent()).length`, &n)
	return n
}

// TestConsoleMapLarge: a network of 500 devices is drawn within a moment, with labels that do not overlap.
func TestConsoleMapLarge(t *testing.T) {
	s := startConsole(t, 10)
	for _, site := range []string{"Vienna", "Graz", "Linz", "Bonn"} {
		s.campus(site, 8, 113)
	}
	page := s.open("admin", "/map", nil)
	require.Equal(t, 502, count(page))
	s.looks(page, "map-large")
	page.Eval(`ashlar.map.cy.zoom({level: 1, renderedPosition: {x: 300, y: 250}}), 0`, new(int))
	page.Keep("map-large-near")
	page.Goto(s.url + "/console/map?group=none")
	require.Equal(t, 502, count(page))
	page.Keep("map-large-links")
}

var _ = []any{url.Values{}, assert.Equal}
