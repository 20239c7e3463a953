package standard_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

var (
	faults  = regexp.MustCompile(`(?s)<[a-z]+ class="(?:fault|field-error|problems|warning|lists-problem|change-problem|empty)[^"]*".*?</(?:p|div|section|ul)>|<td data-label="What is wrong">.*?</td>`)
	tags    = regexp.MustCompile(`(?s)<svg.*?</svg>|<[^>]*>`)
	private = regexp.MustCompile(`(?i)\bJSON\b|\bobject\b|\bUUID\b|[0-9a-f]{8}-[0-9a-f]{4}-|\b[a-z]+_[a-z_]+\b|\barray\b`)
	quoted  = regexp.MustCompile(`"[^"]*"|“[^”]*”`)
)

// TestErrorsInWords: what forms, lists and imports refuse is said with the labels of fields: no JSON, no ids, no names of members.
func TestErrorsInWords(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	require.NoError(t, err)
	store := records.NewMemStore(schema)
	_, err = demo.Fill(t.Context(), store, &demo.Options{Devices: 20})
	require.NoError(t, err)
	api := featuretest.New(t, store, standard.Features()...)
	seen := 0
	check := func(what string, status int, text string) {
		if status < 400 && !strings.HasPrefix(what, "import") {
			return
		}
		for _, fault := range faults.FindAllString(text, -1) {
			said := html.UnescapeString(tags.ReplaceAllString(fault, " "))
			assert.NotRegexp(t, private, quoted.ReplaceAllString(said, ""), what)
			seen++
		}
	}
	const id = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	for _, r := range schema.Resources() {
		if r.Internal || !r.Routes.Has(records.RouteCreate) {
			continue
		}
		values := []string{"", "x", id, "{}", "<b>", "-1", "[1]", "a\x00b", "\n", "99999999999999999999"}
		if testing.Short() {
			values = values[:5]
		}
		for _, value := range values {
			var fields []string
			for _, f := range r.Fields() {
				if !f.ReadOnly && !f.Hidden {
					fields = append(fields, f.Name, value)
				}
			}
			status, text := api.Form("root", "/r/"+r.Name, fields...)
			check(fmt.Sprintf("new %s %q", r.Name, value), status, text)
			var header, cells []string
			for i := 0; i < len(fields); i += 2 {
				header, cells = append(header, fields[i]), append(cells, strings.Trim(value, "\n\x00"))
			}
			rows := strings.Join(header, "\t") + "\n" + strings.Join(cells, "\t") + "\n"
			status, text = api.Form("root", "/import", "resource", r.Name, "step", "preview", "text", rows)
			check(fmt.Sprintf("import %s %q", r.Name, value), status, text)
		}
		page, err := store.List(t.Context(), &records.Query{Resource: r, Limit: 1})
		require.NoError(t, err)
		for _, rec := range page.Records {
			at := "/r/" + r.Name + "/" + rec.Meta().ID
			for _, f := range r.Fields() {
				for _, value := range []string{"", "x", id} {
					status, text := api.Form("root", at, f.Name, value)
					check(fmt.Sprintf("%s.%s %q", r.Name, f.Name, value), status, text)
				}
			}
		}
	}
	t.Logf("%d errors", seen)
	require.Greater(t, seen, 100)
}

// TestRefusalsInWords: so is what lists, changes of many records, drift, accounts, saved views and the pages to sign in refuse.
func TestRefusalsInWords(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	require.NoError(t, err)
	store := records.NewMemStore(schema)
	_, err = demo.Fill(t.Context(), store, &demo.Options{Devices: 20})
	require.NoError(t, err)
	api := featuretest.New(t, store, standard.Features()...)
	main := regexp.MustCompile(`(?s)<main.*</main>`)
	seen := 0
	check := func(what string, status int, text string) {
		said := faults.FindAllString(text, -1)
		if strings.Contains(text, `<div class="message">`) {
			said = main.FindAllString(text, -1)
		}
		if !strings.Contains(text, "<main") {
			said = []string{text} // for a part of a page
		}
		if status < 400 {
			return
		}
		assert.NotEmpty(t, said, "%d %s", status, what)
		assert.Less(t, status, 500, what)
		for _, fault := range said {
			assert.NotRegexp(t, private, quoted.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(fault, " ")), ""), what)
			seen++
		}
	}
	const id = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	for _, r := range schema.Resources() {
		if r.Internal {
			continue
		}
		queries := []string{"cursor=nonsense", "page=x", "page=-1", "limit=x", "limit=100000", "sortby=frob", "sortby=id:up", "frob=1", "column=frob", "q=" + strings.Repeat("x", 300), "below=x", "below=" + id, "q=%00"}
		for _, f := range r.Fields() {
			for _, op := range []string{"", "__gt", "__in", "__isnull", "__within", "__startswith"} {
				if testing.Short() && op != "" && op != "__gt" {
					continue
				}
				queries = append(queries, f.Name+op+"=nonsense", f.Name+op+"=yesterdayish")
			}
			queries = append(queries, f.Name+"="+id, f.Name+"__frob=1", f.Name+"=%00")
		}
		for _, query := range queries {
			status, text := api.Visit("root", "/r/"+r.Name+"?"+query)
			check(r.Name+"?"+query, status, text)
		}
		for _, path := range []string{"/export?format=frob", "/export?format=csv&frob=1", "/" + id, "/" + id + "/edit", "/nonsense", "/" + id + "/history", "/bulk?do=frob", "/bulk?id=x"} {
			status, text := api.Visit("root", "/r/"+r.Name+path)
			check(r.Name+path, status, text)
		}
		page, err := store.List(t.Context(), &records.Query{Resource: r, Limit: 2})
		require.NoError(t, err)
		for _, value := range []string{"", "x", id, "{}", "-1"} {
			for _, f := range r.Fields() {
				if f.ReadOnly || f.Hidden || len(page.Records) == 0 {
					continue
				}
				status, text := api.Form("root", "/r/"+r.Name+"/bulk", "do", "edit", "_step", "preview", "_set", f.Name, f.Name, value, "id", page.Records[0].Meta().ID)
				check("bulk "+r.Name+"."+f.Name+"="+value, status, text)
			}
		}
		for _, fields := range [][]string{{"do", "edit"}, {"do", "frob", "id", id}, {"do", "delete", "id", id}, {"do", "edit", "id", "x"}, {"do", "edit", "_step", "apply", "_set", "frob", "id", id}} {
			status, text := api.Form("root", "/r/"+r.Name+"/bulk", fields...)
			check(fmt.Sprint("bulk ", r.Name, fields), status, text)
		}
		for _, fields := range [][]string{{"name", ""}, {"name", strings.Repeat("x", 200)}, {"name", "x", "query", "frob=1"}, {"name", "x", "query", "cursor=1"}, {"name", "x", "query", "%zz"}, {"delete", id}, {"delete", "x"}} {
			status, text := api.Form("root", "/r/"+r.Name+"/views", fields...)
			check(fmt.Sprint("view ", r.Name, fields), status, text)
		}
	}
	account := "/account/" + api.Users["editor"].ID
	for _, form := range []struct {
		who, path string
		fields    []string
	}{
		{"", "/signin", []string{"username", "", "password", ""}},
		{"", "/signin", []string{"username", "editor", "password", "wrong"}},
		{"", "/signin", []string{"username", "editor", "password", "wrong", "code", "x"}},
		{"", "/signin", []string{"username", strings.Repeat("x", 5000), "password", strings.Repeat("x", 5000)}},
		{"", "/password", []string{"code", "x", "password", "x", "again", "x"}},
		{"", "/password", []string{"code", "", "password", "", "again", "y"}},
		{"", "/forgot", []string{"email", ""}},
		{"editor", account + "/password", []string{"current_password", "wrong", "password", "x"}},
		{"editor", account + "/password", []string{"current_password", featuretest.Password, "password", "password"}},
		{"editor", account + "/password", nil},
		{"editor", account + "/totp", nil},
		{"editor", account + "/totp", []string{"current_password", "wrong"}},
		{"editor", account + "/totp/on", []string{"code", "x"}},
		{"editor", account + "/totp/codes", []string{"current_password", "x"}},
		{"editor", account + "/totp/off", nil},
		{"editor", account + "/tokens", nil},
		{"editor", account + "/tokens", []string{"name", "x", "scopes", "frob:read", "current_password", featuretest.Password}},
		{"editor", account + "/tokens", []string{"name", "x", "days", "x", "expires", "x", "current_password", featuretest.Password}},
		{"editor", account + "/tokens/" + id, nil},
		{"editor", account + "/sessions/x", nil},
		{"editor", account + "/invitation", nil},
		{"viewer", account + "/password", []string{"password", "x"}},
		{"root", "/account/x/password", nil},
		{"root", "/account/" + id + "/invitation", nil},
		{"root", "/r/users", []string{"email", "nonsense", "role", "frob"}},
		{"root", "/r/users", []string{"email", "editor@example.com", "role", "editor"}},
		{"root", "/r/users", []string{"email", "a@example.com", "role", "editor", "location_ids", id}},
		{"root", "/drift", []string{"step", "compare", "text", ""}},
		{"root", "/drift", []string{"step", "compare", "text", "{}"}},
		{"root", "/drift", []string{"step", "compare", "device", "nobody", "text", "nonsense"}},
		{"root", "/drift", []string{"step", "apply"}},
		{"root", "/drift", []string{"step", "compare", "kind", "frob", "text", "a,b\n1,2\n"}},
		{"root", "/drift", []string{"step", "compare", "device", id, "text", "local_interface,frob\nx,y"}},
		{"root", "/connect", []string{"device", id}},
		{"root", "/connect", []string{"from", "x", "to", "y"}},
		{"root", "/import/netbox", []string{"url", "nonsense", "token", ""}},
		{"viewer", "/r/devices", []string{"hostname", "x"}},
		{"viewer", "/import", []string{"resource", "devices", "step", "preview", "text", "hostname\nx"}},
	} {
		status, text := api.Form(form.who, form.path, form.fields...)
		check(fmt.Sprint(form.who, form.path, form.fields), status, text)
	}
	status, text := 0, ""
	for range 50 { // until the account has to wait
		if status, text = api.Form("", "/signin", "username", "viewer", "password", "wrong"); status != http.StatusUnauthorized {
			break
		}
	}
	check("too many wrong passwords", status, text)
	require.Contains(t, text, "try again in ")
	t.Logf("%d refusals", seen)
	require.Greater(t, seen, 1000)
}
