package views_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature/views"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type view struct {
	ID, Resource, Name, Query string
	Everybody, Editable       bool
}

// TestForm: the form of a list saves a view, and says why it does not.
func TestForm(t *testing.T) {
	g := featuretest.New(t, nil, views.New())
	for _, want := range []int{303, 409} {
		status, text := g.Form("viewer", "/r/devices/views", "name", "Old", "query", "last_seen__lt=-30d&fields=hostname,last_seen", "back", "last_seen__lt=-30d")
		require.Equal(t, want, status, text)
		if status == 409 {
			require.Contains(t, text, "View with this name already exists")
			require.Contains(t, text, `href="/r/devices?column=hostname&column=last_seen&last_seen__lt=-30d"`)
		}
	}
	require.NotContains(t, g.Page("editor", "/r/devices"), "Old</a>")
}

// TestViews saves, lists, changes and deletes views over HTTP.
func TestViews(t *testing.T) { featuretest.OnStores(t, testViews, views.New) }

func testViews(t *testing.T, g *featuretest.API) {
	body := func(name, query string, everybody bool) string {
		return fmt.Sprintf(`{"resource":"devices","name":%q,"query":%q,"everybody":%t}`, name, query, everybody)
	}
	save := func(who, name string, everybody bool) (v view) {
		g.As(who).Send("POST", "/views", body(name, "last_seen__lt=-30d&fields=hostname,last_seen", everybody)).Want(201).JSON(&v)
		return v
	}
	list := func(who string) (names []string) {
		var page struct {
			Data  []view
			Share bool
		}
		g.As(who).Send("GET", "/views?resource=devices", nil).Want(200).JSON(&page)
		require.Equal(t, who == "root", page.Share)
		for _, v := range page.Data {
			names = append(names, fmt.Sprint(v.Name, v.Everybody, v.Editable))
		}
		return names
	}
	old := save("viewer", "Old", false)
	require.Equal(t, "last_seen__lt=-30d&fields=hostname,last_seen", old.Query, "relative times stay relative")
	shared := save("root", "Old", true)
	save("editor", "Mine", false)
	require.Equal(t, []string{"Oldfalse true", "Oldtrue false"}, list("viewer"))
	require.Equal(t, []string{"Minefalse true", "Oldtrue false"}, list("editor"))
	require.Equal(t, []string{"Oldtrue true"}, list("root"), "not even administrators see what others have saved for themselves")

	g.As("editor").Send("POST", "/views", body("x", "", true)).WantError(403, "")
	g.As("editor").Send("POST", "/views", `{"resource":"cables","name":"x","query":"","everybody":true}`).Want(201)
	g.As("viewer").Send("POST", "/views", body(" OLD ", "", false)).WantError(409, "View")
	for _, query := range []string{"hostnme=a", "page=2", "cursor=", "sortby=x", "fields=x", "%zz", strings.Repeat("q", 5000)} {
		g.As("viewer").Send("POST", "/views", body("x", query, false)).WantError(400, "")
	}
	g.As("viewer").Send("POST", "/views", `{"resource":"views","name":"x","query":""}`).WantError(400, "resource")
	g.As("viewer").Send("POST", "/views", `{"resource":"custom-fields","name":"x","query":""}`).WantError(403, "")
	g.As("viewer").Send("GET", "/views?resource=custom-fields", nil).WantError(403, "")
	g.As("").Send("GET", "/views?resource=devices", nil).WantError(401, "")

	g.As("root").Send("PATCH", "/views/"+old.ID, `{"name":"x"}`).WantError(404, "View")
	g.As("root").Send("DELETE", "/views/"+old.ID, nil).WantError(404, "View")
	g.As("viewer").Send("DELETE", "/views/"+shared.ID, nil).WantError(403, "")
	g.As("viewer").Send("PATCH", "/views/"+old.ID, `{"everybody":true}`).WantError(403, "")
	g.As("viewer").Send("PATCH", "/views/"+old.ID, `{"name":"Older"}`).Want(200)
	g.As("root").Send("PATCH", "/views/"+shared.ID, `{"query":"status=offline"}`).Want(200)
	g.As("root").Send("PATCH", "/views/"+shared.ID, `{"everybody":false}`).Want(200)
	require.Equal(t, []string{"Olderfalse true"}, list("viewer"))
	g.As("viewer").Send("DELETE", "/views/"+old.ID, nil).Want(200)
	require.Empty(t, list("viewer"))
	for i := range 200 {
		save("viewer", fmt.Sprint("view ", i), false)
	}
	g.As("viewer").Send("POST", "/views", body("x", "", false)).WantError(400, "200")
}

// TestHiddenPlaces: somebody who is limited to a place does not get views that name what is elsewhere.
func TestHiddenPlaces(t *testing.T) {
	g := featuretest.New(t, nil, views.New())
	here, there := g.Create("/locations", `{"name":"here"}`)["id"].(string), g.Create("/locations", `{"name":"there"}`)["id"].(string)
	device := g.Create("/devices", fmt.Sprintf(`{"hostname":"x","location_id":%q}`, there))["id"].(string)
	for name, query := range map[string]string{"a": "location_id=" + here, "b": "location_id=" + there, "c": "below=" + there, "d": "id__in=" + device, "e": "location_id__in=" + here + "," + there, "f": "status=active"} {
		g.As("root").Send("POST", "/views", fmt.Sprintf(`{"resource":"devices","name":%q,"query":%q,"everybody":true}`, name, query)).Want(201)
	}
	g.As("root").Send("PATCH", "/users/"+g.Users["viewer"].ID, fmt.Sprintf(`{"location_ids":[%q]}`, here)).Want(200)
	var page struct {
		Data  []view
		Share bool
	}
	g.As("viewer").Send("GET", "/views?resource=devices", nil).Want(200).JSON(&page)
	var names []string
	for _, v := range page.Data {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"a", "f"}, names)
}
