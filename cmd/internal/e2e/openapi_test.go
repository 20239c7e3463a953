//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// conformant sends requests, and validates requests and responses against the OpenAPI document of the
// server.
type conformant struct {
	*inventory
	document *openapi3.T
	router   routers.Router
	seen     map[string]map[int]bool // status codes by operation
}

func newConformant(t *testing.T, i *inventory) *conformant {
	t.Helper()
	code, text := i.send("GET", "/openapi.json", "")
	require.Equal(t, 200, code)
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	require.NoError(t, err)
	document.Servers = openapi3.Servers{{URL: i.url}}
	router, err := legacy.NewRouter(document)
	require.NoError(t, err)
	return &conformant{i, document, router, map[string]map[int]bool{}}
}

// do sends one request, requires a status and returns the body. valid is whether the document allows
// the request.
func (c *conformant) do(want int, valid bool, method, path, body string) string {
	c.t.Helper()
	request, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(path, "/import?") {
		request.Header.Set("Content-Type", "text/csv")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	route, params, err := c.router.FindRoute(request)
	require.NoError(c.t, err, "%s %s", method, path)
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:         openapi3filter.NoopAuthenticationFunc,
			ExcludeReadOnlyValidations: true,
			SkipSettingDefaults:        true, // it would send page with a cursor
			IncludeResponseStatus:      true,
			SchemaValidationOptions:    []openapi3.SchemaValidationOption{openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()},
		},
	}
	err = openapi3filter.ValidateRequest(c.t.Context(), input)
	require.Equal(c.t, valid, err == nil, "%s %s %s: validation against the document: %v", method, path, body, err)
	request.Body = io.NopCloser(strings.NewReader(body)) // the filter has read it
	response, err := c.http.Do(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, want, response.StatusCode, "%s %s %s: %s", method, path, body, text)
	err = openapi3filter.ValidateResponse(c.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(text)), Options: input.Options,
	})
	require.NoError(c.t, err, "the response to %s %s %s: %d %s", method, path, body, response.StatusCode, text)
	if c.seen[route.Operation.OperationID] == nil {
		c.seen[route.Operation.OperationID] = map[int]bool{}
	}
	c.seen[route.Operation.OperationID][response.StatusCode] = true
	return string(text)
}

// create posts a record and returns its id.
func (c *conformant) create(path, body string) string {
	c.t.Helper()
	var rec struct{ ID string }
	require.NoError(c.t, json.Unmarshal([]byte(c.do(201, true, "POST", path, body)), &rec))
	require.NotEmpty(c.t, rec.ID)
	return rec.ID
}

// sample contains request bodies for a resource.
type sample struct {
	resource string
	drafts   [3]string // can exist together
	change   string    // a partial update
	wrong    string    // a draft that the server and the document reject
}

// samples returns a sample of every resource, ordered so that references exist.
func samples(ids map[string]string) []sample {
	device := func(n int) string {
		return fmt.Sprintf(`{"hostname":"sw%d","ip":"192.0.2.%d","model":"M","vendor":"V","os":"O","status":"active","tags":["a"],"last_seen":"2026-01-31T12:00:00Z"}`, n, n)
	}
	port := func(n int) string {
		return fmt.Sprintf(`{"device_id":"%s","name":"ge-0/0/%d","type":"fiber","mode":"trunk","speed":"10Gbps","mac_address":"02:00:00:00:00:0%d"}`, ids["devices"], n, n)
	}
	place := func(n int) string {
		return fmt.Sprintf(`{"name":"Site %d","city":"Berlin","country":"DE","address":"Allee %d","lat":52.5,"lon":13.4}`, n, n)
	}
	link := func(a, b string) string {
		return fmt.Sprintf(`{"a_interface_id":"%s","b_interface_id":"%s","type":"fiber","status":"up"}`, ids["interfaces"+a], ids["interfaces"+b])
	}
	rear := func(n int) string {
		return fmt.Sprintf(`{"device_id":"%s","name":"rear %d","positions":3}`, ids["devices0"], n)
	}
	front := func(n int) string {
		return fmt.Sprintf(`{"device_id":"%s","name":"front %d","rear_port_id":"%s","rear_port_position":%d}`, ids["devices0"], n, ids["rear-ports0"], n)
	}
	cable := func(n string) string {
		return fmt.Sprintf(`{"a_interface_id":"%s","b_front_port_id":"%s","type":"cat6a"}`, ids["interfaces"+n], ids["front-ports"+n])
	}
	tagged := func(vlan string) string {
		return fmt.Sprintf(`{"interface_id":"%s","vlan_id":"%s"}`, ids["interfaces0"], ids["vlans"+vlan])
	}
	template := func(name string) string {
		return fmt.Sprintf(`{"device_type_id":"%s","kind":"interface","name":"%s"}`, ids["device-types0"], name)
	}
	position := func(view string) string {
		return fmt.Sprintf(`{"device_id":"%s","view":"%s","x":1,"y":2.5}`, ids["devices0"], view)
	}
	return []sample{
		{"locations", [3]string{place(1), place(2), place(3)}, `{"city":"Bonn","site_code":"BON"}`, `{"name":7}`},
		{"devices", [3]string{device(1), device(2), device(3)}, `{"status":"maintenance","notes":"moved"}`, `{"hostname":""}`},
		{"interfaces", [3]string{port(1), port(2), port(3)}, `{"status":"down"}`, `{"name":"x"}`},
		{"vlans", [3]string{`{"vlan_id":10,"name":"voice"}`, `{"vlan_id":11,"name":"data"}`, `{"vlan_id":12,"name":"guest"}`}, `{"description":"d"}`, `{"vlan_id":5000,"name":"x"}`},
		{"tagged-vlans", [3]string{tagged("0"), tagged("1"), tagged("2")}, `{"interface_id":"` + ids["interfaces0"] + `"}`, `{"interface_id":"x"}`},
		{"map-positions", [3]string{position("a"), position("b"), position("c")}, `{"x":-7.5}`, `{"view":""}`},
		{"links", [3]string{link("0", "1"), link("0", "2"), link("1", "2")}, `{"status":"down"}`, `{}`},
		{"rear-ports", [3]string{rear(1), rear(2), rear(3)}, `{"positions":8}`, `{"positions":0}`},
		{"front-ports", [3]string{front(1), front(2), front(3)}, `{"label":"x"}`, `{"name":"x"}`},
		{"terminations", [3]string{
			`{"device_id":"` + ids["devices0"] + `","name":"PSU 1","kind":"power-port"}`, `{"name":"C-1 A","kind":"circuit","location_id":"` + ids["locations0"] + `"}`, `{"name":"con"}`,
		}, `{"label":"x"}`, `{"kind":"x"}`},
		{"cables", [3]string{cable("0"), cable("1"), cable("2")}, `{"color":"blue","length":2.5}`, `{"length":-1}`},
		{"racks", [3]string{`{"name":"R1","height":10}`, `{"name":"R2"}`, `{"name":"R3","tenant":"t"}`}, `{"status":"planned"}`, `{"name":"x","height":0}`},
		{"device-types", [3]string{`{"manufacturer":"V","model":"M"}`, `{"manufacturer":"V","model":"N","height":2}`, `{"manufacturer":"W","model":"M"}`}, `{"part_number":"7"}`, `{"model":"x"}`},
		{"port-templates", [3]string{template("a[1-4]"), template("b"), template("c")}, `{"type":"sfp"}`, `{"kind":"hole"}`},
		{"vrfs", [3]string{`{"name":"red","rd":"65000:1"}`, `{"name":"green"}`, `{"name":"blue"}`}, `{"description":"d"}`, `{"rd":"1:1"}`},
		{"prefixes", [3]string{`{"prefix":"10.0.0.0/8"}`, `{"prefix":"10.0.0.0/24","status":"container"}`, `{"prefix":"2001:db8::/32","vrf":"blue"}`}, `{"role":"transfer"}`, `{"prefix":""}`},
		{"addresses", [3]string{`{"address":"10.0.0.1/24","interface_id":"` + ids["interfaces0"] + `"}`, `{"address":"10.0.0.2","role":"vip"}`, `{"address":"2001:db8::1/64"}`}, `{"dns_name":"a.example.org"}`, `{"address":"no"}`},
		{"events", [3]string{
			`{"severity":"critical","type":"security","message":"m"}`, `{"severity":"info","type":"system","message":"n","device_id":"` + ids["devices"] + `"}`,
			`{"severity":"low","type":"system","message":"o"}`,
		}, "", `{"severity":"loud"}`},
		{"metrics", [3]string{
			`{"device_id":"` + ids["devices"] + `","cpu":12.5}`, `{"device_id":"` + ids["devices"] + `","memory":50,"ts":"2026-01-31T12:00:00Z"}`,
			`{"device_id":"` + ids["devices"] + `"}`,
		}, "", `{"cpu":1}`},
		{"custom-fields", [3]string{
			`{"resource":"links","name":"color","type":"text"}`, `{"resource":"links","name":"length","type":"number"}`, `{"resource":"links","name":"tested","type":"date"}`,
		}, `{"label":"Other"}`, `{"name":"x"}`},
	}
}

// TestOpenAPI sends valid and invalid requests to every route, and validates requests and responses
// against the document.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	c := newConformant(t, startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), nil))
	ids := map[string]string{}
	for n := range samples(ids) {
		c.life(samples(ids)[n], ids)
	}
	c.do(200, true, "GET", "/", "")
	c.do(200, true, "GET", "/debug/count", "")
	c.do(200, true, "GET", "/openapi.json", "")
	device := ids["devices"]
	for _, path := range []string{
		"/devices/" + device + "/interfaces?sortby=name:desc", "/devices/" + device + "/interfacecount",
		"/locations/" + ids["locations"] + "/devices", "/locations/" + ids["locations"] + "/devicescount",
		"/search?q=sw", "/search?q=10.0.0.1&limit=5",
		"/trace?interface_id=" + ids["interfaces0"], "/trace?rear_port_id=" + ids["rear-ports0"], "/trace?termination_id=" + ids["terminations0"],
		"/summary?resource=devices&by=status", "/changes?since=0&limit=5", "/metrics?sort=value:desc", "/metrics/device/" + device, "/metrics/device/" + device + "/history", "/audit-logs?sortby=created_at:desc&limit=5",
		"/devices?hostname__contains=s&status__in=active,offline&fields=id,hostname&count=false&cursor=", "/devices?q=sw&page=2&limit=1",
		"/devices?below=" + ids["locations"], "/racks/" + ids["racks0"] + "/elevation", "/prefixes/" + ids["prefixes0"] + "/usage", "/prefixes?prefix__covers=10.0.0.7&within=10.0.0.0/8",
		"/topology", "/topology?location_id=" + ids["locations"] + "&depth=2&limit=5", "/topology/failures?limit=5&state=any",
		"/devices/" + device + "/neighbors?depth=3&state=up",
		"/sd/prometheus?port=9100", "/sd/ansible", "/sd/hosts", "/sd/zone?origin=example.org", "/sd/kea", "/sd/dnsmasq", "/sd/ssh", "/devices?format=csv",
		"/topology/path?disjoint=node&limit=3&from=" + device + "&to=" + ids["devices1"],
	} {
		c.do(200, true, "GET", path, "")
	}
	c.do(201, true, "POST", "/prefixes/"+ids["prefixes0"]+"/next-address", `{"status":"reserved"}`)
	c.do(201, true, "POST", "/prefixes/"+ids["prefixes0"]+"/next-prefix?prefix_length=24", "")
	c.do(200, true, "PATCH", "/events/"+ids["events"], `{"acknowledged":true}`)
	together := `[{"method":"POST","resource":"devices","items":[{"hostname":"together"}]},{"method":"PATCH","resource":"devices","items":[{"id":"` + device + `","role":"x"}]}]`
	c.do(200, true, "POST", "/transaction?dry_run=true", together)
	c.do(201, true, "POST", "/transaction", together)
	c.do(400, false, "POST", "/transaction", `[]`)
	c.do(200, true, "POST", "/import?resource=vlans", "vlan_id,name,location\n99,guests,BON\n")
	c.do(422, true, "POST", "/import?resource=vlans&dry_run=true", "vlan_id,name,location\n99,guests,nowhere\n")
	c.do(404, true, "GET", "/import/unknown", "")
	c.do(422, true, "POST", "/import/netbox", `{"url":"http://127.0.0.1:1","token":"x"}`)
	saved := c.do(201, true, "POST", "/views", `{"resource":"devices","name":"Not seen","query":"last_seen__lt=-30d"}`)
	view := "/views/" + regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(saved)[1]
	c.do(200, true, "GET", "/views?resource=devices", "")
	c.do(200, true, "PATCH", view, `{"everybody":true}`)
	c.do(200, true, "DELETE", view, "")
	c.do(404, true, "DELETE", view, "")
	c.webhooks()
	made := c.do(202, true, "POST", "/import?resource=vlans&propose=guests", "vlan_id,name,location\n98,guests,BON\n")
	proposal := "/proposals/" + regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(made)[1]
	c.do(200, true, "GET", "/proposals?status=open", "")
	c.do(200, true, "GET", proposal, "")
	c.do(403, true, "POST", proposal+"/apply", "")
	c.do(200, true, "POST", proposal+"/refuse", `{"reason":"no"}`)
	if c.document.Paths.Find("/drift") != nil {
		table := `{"device":"sw2","rows":[{"local_interface":"ge-0/0/1","neighbor":"sw9","neighbor_interface":"ge-0/0/2"}]}`
		ports := `{"device_id":"` + device + `","kind":"interfaces","rows":[{"interface":"ge-0/0/7","mtu":1500}]}`
		c.do(200, true, "POST", "/drift", `{"tables":[`+table+`,`+ports+`,{"device":"none","text":"Total entries displayed: 0"}]}`)
		c.do(200, true, "POST", "/drift?dry_run=true", `{"tables":[`+ports+`],"apply":["all"]}`)
		c.do(409, true, "POST", "/drift", `{"tables":[`+ports+`],"apply":["unexpected","x"]}`)
		c.do(400, false, "POST", "/drift", `{"tables":[]}`)
	}
	c.do(200, true, "POST", "/retention", `{"resource":"events","max_age":"720h","max_records":1000}`)
	c.do(200, true, "POST", "/retention?dry_run=true", `{"resource":"audit-logs","max_records":1}`)
	entry := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(c.do(200, true, "GET", "/audit-logs?limit=1", ""))
	c.do(200, true, "GET", "/audit-logs/"+entry[1], "")
	c.do(404, true, "GET", "/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "")
	c.do(400, false, "GET", "/devices?sortby=tags:asc", "")
	c.do(400, false, "GET", "/devices/7", "")
	c.do(400, true, "GET", "/changes/stream?since=x", "")
	c.do(409, true, "POST", "/devices", samples(ids)[1].drafts[0])
	c.accounts()
	c.token = ""
	c.do(401, true, "GET", "/devices", "")

	var missing []string
	code, text := c.send("GET", "/openapi.json", "")
	require.Equal(t, 200, code)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	for path, operations := range document.Paths {
		for method, operation := range operations {
			if operation.OperationID != "" && c.seen[operation.OperationID] == nil {
				missing = append(missing, method+" "+path)
			}
		}
	}
	require.Empty(t, missing, "routes without a request")
}

// life sends requests to every route of a resource.
func (c *conformant) life(s sample, ids map[string]string) {
	c.t.Helper()
	list := "/" + s.resource
	for n, draft := range s.drafts {
		ids[fmt.Sprint(s.resource, n)] = c.create(list, draft)
	}
	id, last := ids[s.resource+"0"], ids[s.resource+"2"]
	ids[s.resource] = id
	c.do(200, true, "GET", list+"?limit=2", "")
	c.do(200, true, "GET", list+"/"+id, "")
	c.do(400, false, "POST", list, s.wrong)
	if s.change != "" {
		c.do(200, true, "PUT", list+"/"+id, s.drafts[0])
		c.do(200, true, "PATCH", list+"/"+id, s.change)
		c.do(200, true, "PATCH", list, `[{"id":"`+id+`",`+s.change[1:]+`]`)
	}
	if s.resource == "events" {
		c.do(200, true, "PATCH", list, `[{"id":"`+id+`","acknowledged":false}]`)
	}
	c.do(200, true, "DELETE", list+"?dry_run=true", `["`+last+`"]`)
	if s.resource != "metrics" {
		c.do(200, true, "DELETE", list+"/"+ids[s.resource+"1"], "")
		ids[s.resource+"1"] = c.create(list, s.drafts[1])
	}
	c.do(200, true, "DELETE", list, `["`+last+`"]`)
	ids[s.resource+"2"] = c.create(list, s.drafts[2])
}

// secondFactor turns the second factor of the admin on and off.
func (c *conformant) secondFactor() {
	c.t.Helper()
	var got struct {
		UserID string `json:"user_id"`
		Secret string
		Codes  []string `json:"recovery_codes"`
	}
	read := func(text string) { require.NoError(c.t, json.Unmarshal([]byte(text), &got)) }
	read(c.do(200, true, "POST", "/users/login", `{"username":"admin","password":"`+inventoryPassword+`"}`))
	path, proof := "/users/"+got.UserID+"/totp", func(code string) string {
		return `{"current_password":"` + inventoryPassword + `","code":"` + code + `"}`
	}
	read(c.do(200, true, "POST", path, `{"current_password":"`+inventoryPassword+`"}`))
	code, err := auth.TOTPCode(got.Secret, time.Now())
	require.NoError(c.t, err)
	read(c.do(200, true, "PUT", path, `{"code":"`+code+`"}`))
	read(c.do(200, true, "POST", path+"/recovery-codes", proof(got.Codes[0])))
	c.do(401, true, "POST", "/users/login", `{"username":"admin","password":"`+inventoryPassword+`"}`)
	c.do(400, true, "DELETE", path, proof("wrong"))
	c.do(200, true, "DELETE", path, proof(got.Codes[0]))
}

// accounts sends requests to every route of users.
func (c *conformant) accounts() {
	c.t.Helper()
	id := c.create("/users", `{"username":"ann","email":"ann@example.com","password":"a long enough password","role":"editor"}`)
	c.do(200, true, "GET", "/users?inactive_status=false", "")
	c.do(200, true, "GET", "/users/"+id, "")
	c.do(200, true, "PUT", "/users/"+id, `{"username":"ann","email":"ann@example.com","role":"viewer"}`)
	c.do(200, true, "PATCH", "/users/"+id, `{"first_name":"Ann"}`)
	c.do(200, true, "PATCH", "/users", `[{"id":"`+id+`","last_name":"Lee"}]`)
	c.do(200, true, "PUT", "/users/"+id+"/password", `{"new_password":"another long password"}`)
	c.do(200, true, "POST", "/users/forgot-password", `{"email":"ann@example.com"}`)
	c.do(404, true, "POST", "/users/reset-password/ABCDEFGHIJKLMNOPQRSTUVWXYZ", `{"new_password":"yet another password","confirm_password":"yet another password"}`)
	c.do(401, true, "POST", "/users/login", `{"username":"ann","password":"wrong password"}`)
	c.do(200, true, "POST", "/users/login", `{"username":"ann","password":"another long password"}`)
	session := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(c.do(200, true, "GET", "/users/"+id+"/sessions", ""))
	c.do(200, true, "DELETE", "/users/"+id+"/sessions/"+session[1], "")
	token := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(c.do(201, true, "POST", "/users/"+id+"/tokens", `{"name":"script","scopes":["devices:read"]}`))
	c.do(200, true, "GET", "/users/"+id+"/tokens", "")
	c.do(200, true, "DELETE", "/users/"+id+"/tokens/"+token[1], "")
	c.do(200, true, "DELETE", "/users/"+id+"/tokens", "")
	c.do(409, true, "DELETE", "/users/"+id+"/totp", "")
	c.secondFactor()
	c.do(409, true, "POST", "/users", `{"username":"bob","email":"ann@example.com","password":"a long enough password","role":"viewer"}`)
	other := c.create("/users", `{"username":"bob","email":"bob@example.com","password":"a long enough password","role":"viewer"}`)
	guest := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(c.do(201, true, "POST", "/users/invitations", `{"username":"eve","email":"eve@example.com","role":"viewer"}`))
	c.do(201, true, "POST", "/users/"+guest[1]+"/invitation", "")
	c.do(200, true, "DELETE", "/users", `["`+other+`"]`)
	c.do(200, true, "DELETE", "/users/"+id, "")
	c.do(200, true, "POST", "/users/logout", "")
}

// webhooks sends requests about webhooks, whose target is refused.
func (c *conformant) webhooks() {
	c.t.Helper()
	id := func(body string) string { return regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(body)[1] }
	hook := func(name string) string {
		return `{"name":"` + name + `","url":"http://127.0.0.1:1/","secret":"` + webhookSecret + `","paused":true}`
	}
	first := "/webhooks/" + id(c.do(201, true, "POST", "/webhooks", hook("first")))
	second := id(c.do(201, true, "POST", "/webhooks", hook("second")))
	c.do(400, false, "POST", "/webhooks", `{"name":"third"}`)
	c.do(200, true, "GET", "/webhooks?paused=true", "")
	c.do(200, true, "GET", first, "")
	c.do(200, true, "PUT", first, `{"name":"first","url":"http://127.0.0.1:1/","paused":true,"resources":["devices"],"condition":"after.status=offline"}`)
	c.do(200, true, "PATCH", first, `{"template":"{\"text\": \"{{action}}\"}"}`)
	c.do(200, true, "PATCH", "/webhooks", `[{"id":"`+second+`","github_signature":true}]`)
	delivery := "/webhook-deliveries/" + id(c.do(200, true, "POST", first+"/test", ""))
	c.do(200, true, "GET", delivery, "")
	c.do(200, true, "GET", "/webhook-deliveries?state=failed", "")
	c.do(400, true, "PATCH", delivery, `{"state":"queued"}`)
	c.do(400, true, "PATCH", "/webhook-deliveries", `[{"id":"`+strings.TrimPrefix(delivery, "/webhook-deliveries/")+`","state":"queued"}]`)
	c.do(200, true, "DELETE", delivery, "")
	c.do(404, true, "DELETE", "/webhook-deliveries", `["`+strings.TrimPrefix(delivery, "/webhook-deliveries/")+`"]`)
	c.do(200, true, "GET", "/webhook-states", "")
	c.do(404, true, "GET", "/webhook-states/"+second, "")
	c.do(200, true, "DELETE", first, "")
	c.do(200, true, "DELETE", "/webhooks", `["`+second+`"]`)
}
