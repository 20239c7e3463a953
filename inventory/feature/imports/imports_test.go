package imports_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: everybody may import, with the rights to what the rows need.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, imports.New(), map[string]featuretest.Rights{
		"POST /import":             {Who: "1+++"},
		"POST /import/netbox":      {Who: "133+"},
		"GET /import/{request_id}": {Who: "1+++"},
	})
}

// TestImport: POST /import applies rows atomically, or skips bad ones, with the rights of the sender.
func TestImport(t *testing.T) { featuretest.OnStores(t, importing, imports.New) }

func importing(t *testing.T, g *featuretest.API) {
	t.Helper()
	c := g.As("root")
	send := func(user, query, contentType, body string, status int) object {
		t.Helper()
		return featuretest.Read(t, g.As(user).Send("POST", "/import"+query, body, "Content-Type", contentType).Want(status))
	}
	g.Create("/locations", featuretest.Location("Vienna"))
	devices := "hostname,location,notes\nsw1,Vienna,\nsw2,Wien,\nsw3,Vienna,<script>x</script>\n"
	before := len(g.Entries())

	refused := send("root", "?resource=devices", "text/csv", devices, http.StatusUnprocessableEntity)
	problems := refused["problems"].([]any)
	if refused["status"] != "error" || refused["rejected"] != 2.0 || len(problems) != 2 || len(g.Entries()) != before {
		t.Fatalf("the import is %v", refused)
	}
	first, second := problems[0].(object), problems[1].(object)
	if first["line"] != 4.0 || !strings.Contains(first["reason"].(string), "notes") {
		t.Errorf("the problem of the markup is %v", first)
	}
	if second["line"] != 3.0 || second["column"] != "location" || second["value"] != "Wien" {
		t.Errorf("the problem of the location is %v", second)
	}
	dry := send("root", "?resource=devices&on_error=skip&dry_run=true", "text/csv", devices, 200)
	if dry["status"] != "dry_run" || dry["created"] != 1.0 || len(dry["changes"].([]any)) != 1 || len(g.Entries()) != before {
		t.Errorf("the dry run is %v", dry)
	}
	done := send("root", "?resource=devices&on_error=skip", "text/csv", devices, 200)
	if done["created"] != 1.0 || done["rejected_rows"] != "hostname,location,notes\nsw3,Vienna,<script>x</script>\nsw2,Wien,\n" {
		t.Errorf("the import is %v", done)
	}
	if e := g.Last(); e.Action != "create" || e.Actor != "root" || *e.UserID != g.Users["root"].ID {
		t.Errorf("the entry is %+v", e)
	}
	jsonl := `{"_resource":"interfaces","name":"eth0","device":"sw9"}` + "\n" + `{"_resource":"devices","hostname":"sw9","location":"Vienna"}` + "\n"
	if done := send("root", "", "application/jsonl", jsonl, 200); done["created"] != 2.0 {
		t.Errorf("the import is %v", done)
	}
	if again := send("root", "?format=jsonl", "application/json", jsonl, 200); again["unchanged"] != 2.0 {
		t.Errorf("the second import is %v", again)
	}
	send("root", "?resource=devices", "text/csv", "hostnam\nx\n", 400)
	send("root", "?resource=devices", "text/plain", "hostname\nx\n", http.StatusUnsupportedMediaType)
	send("root", "?resource=devices&on_error=no", "text/csv", "hostname\nx\n", 400)
	send("root", "?resource=devices", "text/csv", "hostname\n"+strings.Repeat("sw-1\n", 1<<24), http.StatusRequestEntityTooLarge)

	large := ""
	for n := range 400 {
		large += `{"hostname":"big` + strconv.Itoa(n) + `","notes":"` + strings.Repeat("x", 5000) + `"}` + "\n"
	}
	if dry := send("root", "?resource=devices&dry_run=true", "application/jsonl", large, 200); dry["created"] != 400.0 {
		t.Errorf("the import of %d bytes is %v", len(large), dry["message"])
	}
	markup := strings.Replace(large, "big399\",\"notes\":\"", "big399\",\"notes\":\"<script>x</script>", 1)
	if bad := send("root", "?resource=devices&dry_run=true", "application/jsonl", markup, 422); bad["rejected"] != 1.0 {
		t.Errorf("the import with markup is %v", bad["message"])
	}

	for _, user := range []string{"viewer", "editor"} {
		send(user, "?resource=devices", "text/csv", "hostname\nsw5\n", http.StatusForbidden)
		send(user, "?resource=devices", "text/csv", "hostname,location,vendor\nsw1,Vienna,x\n", http.StatusForbidden)
	}
	site := g.Create("/locations", featuretest.Location("Graz"))
	token := featuretest.Read(t, c.Send("POST", "/users/"+g.Users["root"].ID+"/tokens", object{
		"name": "limited", "scopes": []string{"devices:*", "locations:read"}, "location_ids": []any{site["id"]}, "current_password": featuretest.Password,
	}).Want(http.StatusCreated))
	limited := g.As("")
	limited.Header.Set("Authorization", "Bearer "+token["token"].(string))
	limited.Send("POST", "/import?resource=devices", "hostname,location\nsw6,Graz\n", "Content-Type", "text/csv").Want(200)
	limited.Send("POST", "/import?resource=devices", "hostname,location\nsw6,Vienna\n", "Content-Type", "text/csv").Want(422)
	limited.Send("POST", "/import?resource=vlans", "vlan_id,name,location\n7,x,Graz\n", "Content-Type", "text/csv").Want(http.StatusForbidden)
}

// TestHidden: an import tells a token nothing of resources that it may neither read nor change: whether a record has the
// values of a row, or exists, and in a dry run what goes along. The 403 is counted as forbidden in
// inventory_refused_requests_total, and has an entry refused in the audit log.
func TestHidden(t *testing.T) { featuretest.OnStores(t, hidden, imports.New) }

func hidden(t *testing.T, g *featuretest.API) {
	t.Helper()
	site := g.Create("/locations", featuretest.Location("Vienna"))
	g.Create("/devices", object{"hostname": "sw1", "location_id": site["id"]})
	id, _ := site["id"].(string)
	blind := g.WithScopes("vlans:*")
	for _, row := range []string{"{\"name\":\"Vienna\"}", "{\"name\":\"Vienna\",\"city\":\"Rome\"}", "{\"name\":\"Rome\"}", "{\"id\":\"" + id + "\"}"} {
		for _, query := range []string{"", "&dry_run=true", "&existing=reject", "&on_error=skip"} {
			blind.Send("POST", "/import?resource=locations"+query, row, "Content-Type", "application/jsonl").Want(http.StatusForbidden)
		}
	}
	prune := "/import?resource=locations&prune=true&dry_run=true"
	dry := featuretest.Read(t, g.WithScopes("locations:*").Send("POST", prune, "{\"name\":\"Rome\"}", "Content-Type", "application/jsonl").Want(200))
	changes, _ := dry["changes"].([]any)
	for _, c := range changes {
		if c.(object)["resource_type"] != "location" {
			t.Errorf("the dry run shows %v", c)
		}
	}
	if len(changes) != 2 || dry["truncated"] != false {
		t.Errorf("the dry run is %v", dry)
	}
}

// TestReplace: an export with natural keys creates the same records in another inventory, prune deletes what
// the rows lack, and existing=reject creates only.
func TestReplace(t *testing.T) { featuretest.OnStores(t, replace, imports.New) }

func replace(t *testing.T, g *featuretest.API) {
	t.Helper()
	c := g.As("root")
	send := func(query, contentType, body string, status int) object {
		t.Helper()
		return featuretest.Read(t, c.Send("POST", "/import"+query, body, "Content-Type", contentType).Want(status))
	}
	send("", "application/yaml", `
locations:
- {name: Vienna, site_code: VIE}
- {name: Room 1, parent: VIE}
devices:
- {hostname: sw1, location: VIE, tags: [core], notes: "one\r\n\r\ntwo"}
- {hostname: sw2, location: Room 1}
- {hostname: lonely}
interfaces:
- {name: eth0, device: sw1, type: lag}
- {name: eth1, device: sw1, lag: {name: eth0, device: sw1}}
- {name: eth0, device: sw2}
cables:
- {a_interface: {name: eth1, device: sw1}, b_interface: {name: eth0, device: sw2}, color: red}
vrfs:
- {name: red}
prefixes:
- {prefix: 10.0.0.0/24, vrf: red}
- {prefix: 10.0.0.0/24}
`, 200)
	ids := func(name string) (all []string) {
		for _, rec := range featuretest.Read(t, c.Send("GET", "/"+name+"?limit=100", nil).Want(200))["data"].([]any) {
			all = append(all, rec.(object)["id"].(string))
		}
		return all
	}
	resources := []string{"locations", "devices", "interfaces", "cables", "vrfs", "prefixes"}
	export := func() map[string]string {
		all := map[string]string{}
		for _, name := range resources {
			for _, format := range []string{"yaml", "csv", "jsonl"} {
				all[name+"."+format] = c.Send("GET", "/"+name+"?keys=natural&format="+format, nil).Want(200).Body.String()
			}
		}
		return all
	}
	before := export()
	if want := `"lag":{"device":{"location":{"site_code":"VIE"},"hostname":"sw1"},"name":"eth0"}`; !strings.Contains(before["interfaces.jsonl"], want) {
		t.Errorf("the interfaces are %s", before["interfaces.jsonl"])
	}
	types := map[string]string{"yaml": "application/yaml", "csv": "text/csv", "jsonl": "application/jsonl"}
	for _, format := range []string{"yaml", "csv", "jsonl"} {
		for _, name := range resources {
			if again := send("?resource="+name, types[format], before[name+"."+format], 200); again["created"] != 0.0 || again["updated"] != 0.0 {
				t.Errorf("%s as %s: %v", name, format, again)
			}
		}
		for _, name := range []string{"prefixes", "vrfs", "devices", "locations"} {
			for _, id := range ids(name) {
				c.Send("DELETE", "/"+name+"/"+id, nil).Want(200)
			}
		}
		for _, name := range resources {
			send("?existing=reject&resource="+name, types[format], before[name+"."+format], 200)
		}
		for name, text := range export() {
			if text != before[name] {
				t.Errorf("%s after %s: %s, before %s", name, format, text, before[name])
			}
		}
	}
	refused := send("?existing=reject&resource=vrfs", "text/csv", "name\ngreen\nred\n", 422)
	if p := refused["problems"].([]any); len(p) != 1 || p[0].(object)["line"] != 3.0 || len(ids("vrfs")) != 1 {
		t.Errorf("the import is %v", refused)
	}

	rows := "hostname,location\nsw1,VIE\nsw3,VIE\n"
	dry := send("?resource=devices&prune=true&dry_run=true", "text/csv", rows, 200)
	if dry["created"] != 1.0 || dry["deleted"] != 2.0 || len(ids("devices")) != 3 {
		t.Errorf("the dry run is %v", dry)
	}
	send("?resource=devices&prune=true", "text/csv", rows+"sw1,nowhere\n", 422)
	send("?resource=devices&prune=true&on_error=skip", "text/csv", rows, 400)
	if done := send("?resource=devices&prune=true", "text/csv", rows, 200); done["deleted"] != 2.0 || len(ids("devices")) != 2 || len(ids("cables")) != 0 {
		t.Errorf("the import is %v", done)
	}
	c.Send("GET", "/devices?keys=natural", nil).Want(400)
	c.Send("GET", "/devices?keys=x&format=csv", nil).Want(400)
}
