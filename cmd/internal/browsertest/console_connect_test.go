package browsertest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// switches creates two switches with so many ports, and returns their ids and those of the ports of the first.
func (s *consoleServer) switches(ports int) (ids [2]string, first []string) {
	s.t.Helper()
	for n := range ids {
		ids[n] = s.create("devices", map[string]any{"hostname": fmt.Sprint("cable-sw", n+1)})
		for i := range ports {
			id := s.create("interfaces", map[string]any{"device_id": ids[n], "name": fmt.Sprint("Gi1/0/", i+1), "status": "unknown"})
			if n == 0 {
				first = append(first, id)
			}
		}
	}
	return ids, first
}

// cables returns how many cables there are.
func (s *consoleServer) cables() int {
	s.t.Helper()
	var list struct {
		Meta struct {
			Total int `json:"total_count"`
		}
	}
	s.api("GET", "/cables?limit=1", nil, &list)
	return list.Meta.Total
}

// TestConnectPorts: two ports are cabled with three clicks. Ports with a cable can't be chosen, and say which one
// they have.
func TestConnectPorts(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	ids, ports := s.switches(3)
	panel := s.create("devices", map[string]any{"hostname": "cable-pp"})
	rear := s.create("rear-ports", map[string]any{"device_id": panel, "name": "rear", "positions": 2})
	front := s.create("front-ports", map[string]any{"device_id": panel, "name": "1", "rear_port_id": rear})
	power := s.create("terminations", map[string]any{"device_id": panel, "name": "psu1", "kind": "power-port"})
	s.create("cables", map[string]any{"a_interface_id": ports[2], "b_rear_port_id": rear, "label": "T-1"})
	before := s.cables()
	page := s.open("admin", "/r/devices/"+ids[0], nil)
	page.Click(`tr[data-id="` + ports[0] + `"] a[href*="/connect"]`)
	page.Type("#f-to", "cable-pp\n")
	page.Await(`input[value="front-ports/` + front + `"]`)
	list := visible(page, ".cabling-sockets")
	require.Contains(t, list, "T-1 to cable-sw1 Gi1/0/3")
	require.Contains(t, list, "psu1")
	var disabled bool
	page.Eval(`document.querySelector('input[value="rear-ports/`+rear+`"]').disabled`, &disabled)
	require.True(t, disabled)
	s.looks(page, "connect-port")
	page.Click(`input[value="front-ports/` + front + `"]`)
	page.Click(`button[value="connect"]`)
	page.AwaitText(".notice", "Connected")
	page.Spent(3)
	require.Contains(t, visible(page, `tr[data-id="`+ports[0]+`"]`), "cable-pp 1")
	require.Equal(t, before+1, s.cables())

	// Between the choice and the button somebody else has used the port: the refusal names it by its labels, once.
	page.Goto(s.url + "/console/connect?port=interfaces/" + ports[1])
	page.Type("#f-to", "cable-pp\n")
	page.Await(`input[value="terminations/` + power + `"]`)
	page.Click(`input[value="terminations/` + power + `"]`)
	s.create("cables", map[string]any{"a_interface_id": s.first("/interfaces?device_id=" + ids[1])["id"], "b_termination_id": power, "label": "P-7"})
	page.Click(`button[value="connect"]`)
	page.AwaitText(".problems", "P-7")
	problems := visible(page, ".problems")
	require.Equal(t, 1, strings.Count(problems, "psu1"), problems)
	require.NotRegexp(t, `[0-9a-f]{8}-[0-9a-f]{4}`, problems)
	page.Expected("422")
	page.Silent()
}

// tabTo presses Tab until an element has the focus, which must be visible, at most limit times.
func tabTo(page *Page, selector string, limit int) {
	page.t.Helper()
	for range limit {
		page.Press(kb.Tab)
		var at struct {
			There, Shown bool
		}
		page.Eval(`(() => { const e = document.activeElement, s = getComputedStyle(e);
			return {There: e.matches(`+strconv.Quote(selector)+`), Shown: s.outlineStyle != "none" || s.boxShadow != "none"}; })()`, &at)
		if at.There {
			require.True(page.t, at.Shown, "%s: the focus is not visible", selector)
			return
		}
	}
	page.t.Fatalf("%s has no focus after %d times Tab", selector, limit)
}

// TestConnectByKeyboard: without a mouse, from signing in on, a port is found and cabled.
func TestConnectByKeyboard(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	ids, ports := s.switches(2)
	before := s.cables()
	page := Open(t, s.url+"/console/", nil)
	page.Press("admin" + kb.Tab + consolePassword + kb.Enter)
	page.Await(".frame:not(.frame-single)")
	page.Spent(0)
	page.Press(kb.Tab) // the link to the content comes first
	var skip string
	page.Eval(`document.activeElement.getAttribute("href")`, &skip)
	require.Equal(t, "#main", skip)
	page.Press("/")
	page.Press("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	page.Await("#palette[open]")
	page.Press("cable-sw1")
	page.AwaitText("#palette-results", "cable-sw1")
	page.Press(kb.Enter)
	page.Await(`tr[data-id="` + ports[0] + `"]`)
	tabTo(page, `tr[data-id="`+ports[0]+`"] a[href*="/connect"]`, 120)
	page.Press(kb.Enter)
	page.Await("#f-to")
	tabTo(page, "#f-to", 60)
	page.Press("cable-sw2" + kb.Enter)
	first := `input[value="interfaces/` + s.first("/interfaces?device_id=" + ids[1])["id"].(string) + `"]`
	page.Await(first)
	tabTo(page, first, 90)
	page.Press(" ")
	tabTo(page, `button[value="connect"]`, 40)
	page.Press(kb.Enter)
	page.AwaitText(".notice", "Connected")
	page.Spent(0)
	require.Equal(t, before+1, s.cables())
	page.Silent()
}

// TestConnectManyPorts: 24 ports are cabled to 24 with at most eight clicks, all or none, after a preview.
func TestConnectManyPorts(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	ids, ports := s.switches(24)
	before := s.cables()
	page := s.open("admin", "/r/devices/"+ids[0], nil)
	page.Click(`#device-interfaces header a[href*="/connect"]`)
	page.Type("#f-to", "cable-sw")
	page.AwaitText(".change-list", "cable-sw1")
	page.Type("#f-to", "2\n") // the list is still of the text before
	page.Await(`.cabling-ends section:last-child .cabling-sockets`)
	for _, name := range []string{"a", "b"} {
		page.Click(`.cabling-sockets li:first-child input[name="` + name + `"]`)
		page.ShiftClick(`.cabling-sockets li:last-child input[name="` + name + `"]`)
	}
	page.Type("#connect-label", "B-09")
	page.Eval("scrollTo(0, 0)", new(any)) // the bar of the page covers no box
	s.looks(page, "connect-many")
	page.Click(`button[value="connect"]`)
	page.AwaitText("#connect-preview", "24 cables from cable-sw1 to cable-sw2")
	require.Regexp(t, `Gi1/0/2 Gi1/0/2 B-10 .*Gi1/0/24 Gi1/0/24 B-32`, visible(page, "table"))
	require.Equal(t, before, s.cables())
	s.looks(page, "connect-preview")
	page.Click(`button[value="apply"]`)
	page.AwaitText(".notice", "Connected")
	page.Spent(8)
	require.Equal(t, before+24, s.cables())
	require.Contains(t, visible(page, `tr[data-id="`+ports[9]+`"]`), "cable-sw2 Gi1/0/10 by B-18")
	page.Silent()
}

// TestConnectPlainly: without JavaScript ports are connected too. A viewer has no button, and gets no page.
func TestConnectPlainly(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	_, ports := s.switches(1)
	page := s.open("editor", "/connect?port=interfaces/"+ports[0], &Options{NoScript: true})
	page.Type("#f-to", "cable-sw3\n")
	page.Await(".problems")
	page.Goto(s.url + "/console/connect?port=interfaces/" + ports[0] + "&to=cable-sw2")
	page.Click(`.cabling-sockets li:first-child input`)
	page.Submit(`button[value="connect"]`)
	page.Await(".notice")
	require.Contains(t, visible(page, `tr[data-id="`+ports[0]+`"]`), "cable-sw2 Gi1/0/1")
	page = s.open("viewer", "/r/interfaces/"+ports[0], nil)
	require.NotContains(t, page.HTML(), "/connect?")
	page.Goto(s.url + "/console/connect?port=interfaces/" + ports[0])
	page.AwaitText("h1", "Not allowed")
	page.Expected("403")
}

// TestCableEnds: the list of cables shows both ends, whatever they are, and a form that is refused names the cable that
// a port has by its ends, once and without ids.
func TestCableEnds(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	_, ports := s.switches(2)
	panel := s.create("devices", map[string]any{"hostname": "cable-pp"})
	rear := s.create("rear-ports", map[string]any{"device_id": panel, "name": "rear"})
	power := s.create("terminations", map[string]any{"device_id": panel, "name": "psu1", "kind": "power-port"})
	cable := s.create("cables", map[string]any{"a_interface_id": ports[0], "b_rear_port_id": rear, "label": "E-1"})
	page := s.open("admin", "/r/cables?label__startswith=E-", nil)
	require.Regexp(t, `A end .*B end .*E-1 .*cable-sw1 Gi1/0/1 cable-pp rear`, visible(page, ".lists-table"))
	s.looks(page, "connect-cables")
	page.Goto(s.url + "/console/r/cables/new?a_interface_id=" + ports[0] + "&b_termination_id=" + power)
	page.Submit(".change-actions .button-main")
	page.AwaitText(".problems", "already has a cable")
	problems := visible(page, ".problems")
	require.Equal(t, 1, strings.Count(problems, "cable-pp"), problems)
	require.NotContains(t, page.Text("main"), cable)
	page.Expected("409")
	page.Silent()
}

// TestFaceplate: a device of a type shows the ports of the type as squares that lead to the ports, with the state in words
// too. Nobody has seen new ports up.
func TestFaceplate(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	kind := s.create("device-types", map[string]any{"manufacturer": "Globex", "model": "GX-48"})
	s.create("port-templates", map[string]any{"device_type_id": kind, "kind": "interface", "name": "Gi1/0/[1-48]", "type": "1000base-t"})
	device := s.create("devices", map[string]any{"hostname": "plate-1", "device_type_id": kind})
	far := s.create("devices", map[string]any{"hostname": "plate-2", "device_type_id": kind})
	s.create("interfaces", map[string]any{"device_id": device, "name": "Vlan10", "ip_address": "10.8.0.1/24"})
	port := func(of, name string) string {
		return fmt.Sprint(s.first("/interfaces?device_id=" + of + "&name=" + name)["id"])
	}
	third := port(device, "Gi1/0/3")
	s.create("cables", map[string]any{"a_interface_id": third, "b_interface_id": port(far, "Gi1/0/4"), "label": "F-1"})
	s.api("PATCH", "/interfaces/"+third, map[string]any{"oper_status": "up"}, nil)
	page := s.open("viewer", "/r/devices/"+device, nil)
	var squares []string
	var heights []int
	page.Eval(`[...document.querySelectorAll(".cabling-plate a")].map((a) => a.title)`, &squares)
	require.Len(t, squares, 48)
	require.Equal(t, "Gi1/0/1, unknown", squares[0])
	require.Equal(t, "Gi1/0/3, up, to plate-2 Gi1/0/4", squares[2])
	page.Eval(`[...document.querySelectorAll("#device-interfaces tbody tr")].map((r) => r.offsetHeight)`, &heights)
	require.Less(t, slices.Max(heights), 50, "each port has one line")
	s.looks(page, "device-plate")
	page.Submit(`.cabling-plate a[title^="Gi1/0/3,"]`)
	require.Contains(t, visible(page, "h1"), "Gi1/0/3")
	page.Silent()
}
