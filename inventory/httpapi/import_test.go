package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestImport: POST /import applies rows atomically, or skips bad ones, with the rights of the sender.
func TestImport(t *testing.T) { stores(t, imports) }

func imports(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	send := func(user, query, contentType, body string, status int) object {
		t.Helper()
		return read(t, g.as(user).Send("POST", "/import"+query, body, "Content-Type", contentType).Want(status))
	}
	g.create("/locations", location("Vienna"))
	devices := "hostname,location,notes\nsw1,Vienna,\nsw2,Wien,\nsw3,Vienna,<script>x</script>\n"
	before := len(g.entries())

	refused := send("root", "?resource=devices", "text/csv", devices, http.StatusUnprocessableEntity)
	problems := refused["problems"].([]any)
	if refused["status"] != "error" || refused["rejected"] != 2.0 || len(problems) != 2 || len(g.entries()) != before {
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
	if dry["status"] != "dry_run" || dry["created"] != 1.0 || len(dry["changes"].([]any)) != 1 || len(g.entries()) != before {
		t.Errorf("the dry run is %v", dry)
	}
	done := send("root", "?resource=devices&on_error=skip", "text/csv", devices, 200)
	if done["created"] != 1.0 || done["rejected_rows"] != "hostname,location,notes\nsw3,Vienna,<script>x</script>\nsw2,Wien,\n" {
		t.Errorf("the import is %v", done)
	}
	if e := g.last(); e.Action != "create" || e.Actor != "root" || *e.UserID != g.users["root"].ID {
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
	send("root", "?resource=devices", "text/csv", "hostname\n"+strings.Repeat("sw-1\n", 1<<18), http.StatusRequestEntityTooLarge)

	for _, user := range []string{"viewer", "editor"} {
		send(user, "?resource=devices", "text/csv", "hostname\nsw5\n", http.StatusForbidden)
		send(user, "?resource=devices", "text/csv", "hostname,location,vendor\nsw1,Vienna,x\n", http.StatusForbidden)
	}
	site := g.create("/locations", location("Graz"))
	token := read(t, c.Send("POST", "/users/"+g.users["root"].ID+"/tokens", object{
		"name": "limited", "scopes": []string{"devices:*", "locations:read"}, "location_ids": []any{site["id"]}, "current_password": password,
	}).Want(http.StatusCreated))
	limited := g.as("")
	limited.Header.Set("Authorization", "Bearer "+token["token"].(string))
	limited.Send("POST", "/import?resource=devices", "hostname,location\nsw6,Graz\n", "Content-Type", "text/csv").Want(200)
	limited.Send("POST", "/import?resource=devices", "hostname,location\nsw6,Vienna\n", "Content-Type", "text/csv").Want(422)
	limited.Send("POST", "/import?resource=vlans", "vlan_id,name,location\n7,x,Graz\n", "Content-Type", "text/csv").Want(http.StatusForbidden)
}
