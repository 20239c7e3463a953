package proposals_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/customfields"
	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/feature/proposals"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

type object = featuretest.Object

type proposal struct {
	ID, Author, Status, Summary, Reason string

	DecidedBy              string `json:"decided_by"`
	Own, Decidable, Hidden bool
	Changes                []feature.Change
	Conflicts              []struct {
		ResourceID string `json:"resource_id"`
		Fields     []struct {
			Field              string
			Before, Now, After any
		}
	}
}

// propose proposes a change and returns it.
func propose(g *featuretest.API, who, method, path string, body any) (p proposal) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	decode(g.As(who).Send(method, path+separator+"propose=please", body).Want(http.StatusAccepted), &p)
	return p
}

// decode decodes a part of a response.
func decode(w *httpxtest.Response, into any) {
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		panic(err)
	}
}

func decide(g *featuretest.API, who, id, do string) int {
	return g.As(who).Send("POST", "/proposals/"+id+"/"+do, object{"reason": "no"}).Code
}

// admin adds an administrator, who may be limited to locations.
func admin(t *testing.T, g *featuretest.API, name string, locations ...string) {
	u := &inventory.User{Username: name, Email: name + "@example.org", Role: inventory.Admin, PasswordHash: g.Users["root"].PasswordHash, LocationIDs: locations}
	require.NoError(t, records.New(g.Store, nil).Create(t.Context(), records.Caller{Name: "test"}, u))
	g.Users[name] = u
}

func apply(g *featuretest.API, who, id string) int {
	return g.As(who).Send("POST", "/proposals/"+id+"/apply", nil).Code
}

// withReview is the feature with imports and the setting.
func withReview() *feature.Feature {
	f, more := proposals.New("devices:admin"), imports.New()
	f.Operations, f.State = append(f.Operations, more.Operations[0]), more.State
	return f
}

// TestProposals: every bulk request can be proposed; another user applies it once, and the audit log has both names.
func TestProposals(t *testing.T) {
	featuretest.OnStores(t, testProposals, func() *feature.Feature { return proposals.New() })
}

func testProposals(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	device := g.Create("/devices", featuretest.Device("sw1"))
	path := "/devices/" + device["id"].(string)
	status := func() string { return featuretest.Read(t, g.As("root").Send("GET", path, nil))["status"].(string) }
	for i, sent := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", path, object{"status": "maintenance"}},
		{"PATCH", "/devices", []object{{"id": device["id"], "status": "offline", "if_version": 2}}},
		{"POST", "/transaction", []object{{"method": "PATCH", "resource": "devices", "items": []object{{"id": device["id"], "status": "active"}}}, {"method": "POST", "resource": "vrfs", "items": []object{{"name": "red"}}}}},
		{"POST", "/devices", featuretest.Device("sw2")},
		{"DELETE", "/devices", []any{device["id"]}},
	} {
		p := propose(g, "ann", sent.method, sent.path, sent.body)
		require.Equal(t, []any{"ann", "open", true, false}, []any{p.Author, p.Status, p.Own, p.Decidable})
		require.NotEmpty(t, p.Changes, i)
		require.Equal(t, 403, apply(g, "ann", p.ID), "the author")
		require.Equal(t, 403, apply(g, "viewer", p.ID), "a user without the right")
		require.Equal(t, 403, decide(g, "viewer", p.ID, "refuse"))
		var shown proposal
		decode(g.As("root").Send("GET", "/proposals/"+p.ID, nil).Want(200), &shown)
		require.True(t, shown.Decidable)
		require.Equal(t, p.Changes, shown.Changes)
		require.Equal(t, 200, g.As("root").Send("POST", "/proposals/"+p.ID+"/apply?dry_run=true", nil).Code)
		if i == 0 {
			require.Equal(t, "active", status(), "nothing has changed yet")
		}
		decode(g.As("root").Send("POST", "/proposals/"+p.ID+"/apply", nil).Want(200), &shown)
		require.Equal(t, []any{"applied", "root"}, []any{shown.Status, shown.DecidedBy})
		require.Equal(t, 409, apply(g, "root", p.ID), "only once")
		both := 0
		for _, e := range g.Entries() {
			if e.Actor == "root for ann" && e.UserID != nil && *e.UserID == g.Users["root"].ID {
				both++
			}
		}
		require.Equal(t, []int{1, 2, 4, 5, 6}[i], both)
	}
	require.Len(t, g.List("/audit-logs?actor__contains=for+ann"), 6)
	require.Equal(t, 404, g.As("root").Send("GET", path, nil).Code)
	require.Equal(t, 400, g.As("ann").Send("POST", "/devices?propose=", featuretest.Device("sw3")).Code, "no comment")
	require.Equal(t, 400, g.As("ann").Send("POST", "/devices?propose=%3Cscript%3Ealert(1)%3C/script%3E", featuretest.Device("sw3")).Code, "as in bodies")
	require.Equal(t, 400, g.As("root").Send("POST", "/users?propose=x", object{}).Code, "users have rules of their own")
	require.Equal(t, 403, g.As("viewer").Send("POST", "/devices?propose=x", featuretest.Device("sw3")).Code)
}

// TestDecisions: another user refuses with a reason, and the author withdraws.
func TestDecisions(t *testing.T) {
	featuretest.OnStores(t, testDecisions, func() *feature.Feature { return proposals.New() })
}

func testDecisions(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	p := propose(g, "ann", "POST", "/devices", featuretest.Device("sw1"))
	require.Equal(t, 400, g.As("root").Send("POST", "/proposals/"+p.ID+"/refuse", object{}).Code, "no reason")
	require.Equal(t, 200, decide(g, "root", p.ID, "refuse"))
	require.Equal(t, 409, apply(g, "root", p.ID))
	require.Equal(t, "refuse", g.Last().Action)
	p = propose(g, "ann", "POST", "/devices", featuretest.Device("sw1"))
	require.Equal(t, 200, decide(g, "ann", p.ID, "refuse"))
	require.Equal(t, 409, decide(g, "root", p.ID, "refuse"))
	var list struct{ Data []proposal }
	decode(g.As("viewer").Send("GET", "/proposals?status=withdrawn", nil).Want(200), &list)
	require.Len(t, list.Data, 1)
	require.Equal(t, 404, apply(g, "root", featuretest.Unknown))
	for range 50 {
		propose(g, "ann", "POST", "/vrfs", object{"name": "red"})
	}
	require.Equal(t, 409, g.As("ann").Send("POST", "/vrfs?propose=x", object{"name": "red"}).Code, "too many")
}

// TestDecided: of the decided proposals the newest are kept.
func TestDecided(t *testing.T) {
	featuretest.OnStores(t, testDecided, func() *feature.Feature { return proposals.New() })
}

func testDecided(t *testing.T, g *featuretest.API) {
	const kept = 1000
	var old []records.Record
	for range kept {
		old = append(old, &proposals.Proposal{Author: "ann", Comment: "x", Status: "refused"})
	}
	require.NoError(t, records.New(g.Store, nil).Create(t.Context(), records.Caller{Name: "test"}, old...))
	first := old[0].Meta().ID
	g.As("root").Send("GET", "/proposals/"+first, nil).Want(404) // it has no content
	p := propose(g, "root", "POST", "/vrfs", object{"name": "red"})
	require.Equal(t, 200, decide(g, "root", p.ID, "refuse"))
	_, err := records.Get[proposals.Proposal](t.Context(), g.Store, first)
	require.Equal(t, records.NotFound, records.KindOf(err))
	n, err := records.Count(t.Context(), g.Store, &records.Query{Resource: records.Of[proposals.Proposal](g.Store.Schema())})
	require.NoError(t, err)
	require.EqualValues(t, kept, n)
}

// TestConflicts: nothing is applied if a record has changed since, and the fields are shown.
func TestConflicts(t *testing.T) {
	featuretest.OnStores(t, testConflicts, func() *feature.Feature { return proposals.New() })
}

func testConflicts(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	one, two := g.Create("/devices", featuretest.Device("sw1")), g.Create("/devices", featuretest.Device("sw2"))
	p := propose(g, "ann", "PATCH", "/devices", []object{{"id": one["id"], "status": "maintenance"}, {"id": two["id"], "status": "maintenance"}})
	g.As("root").Send("PATCH", "/devices/"+one["id"].(string), object{"status": "offline"}).Want(200)
	var refused struct {
		Items []struct {
			ID     string
			Errors []struct{ Field, Reason string }
		}
	}
	decode(g.As("root").Send("POST", "/proposals/"+p.ID+"/apply", nil).Want(409), &refused)
	require.Len(t, refused.Items, 1)
	require.Equal(t, one["id"], refused.Items[0].ID)
	require.Equal(t, "status", refused.Items[0].Errors[0].Field)
	decode(g.As("viewer").Send("GET", "/proposals/"+p.ID, nil).Want(200), &p)
	require.Equal(t, []any{"active", "offline", "maintenance"}, []any{p.Conflicts[0].Fields[0].Before, p.Conflicts[0].Fields[0].Now, p.Conflicts[0].Fields[0].After})
	require.Equal(t, "active", featuretest.Read(t, g.As("root").Send("GET", "/devices/"+two["id"].(string), nil))["status"])
	g.As("root").Send("DELETE", "/devices/"+one["id"].(string), nil).Want(200)
	p = proposal{ID: p.ID}
	decode(g.As("root").Send("GET", "/proposals/"+p.ID, nil).Want(200), &p)
	require.Empty(t, p.Conflicts[0].Fields, "it is gone")
	p = propose(g, "ann", "POST", "/devices", featuretest.Device("sw3"))
	g.Create("/devices", featuretest.Device("sw3"))
	require.Equal(t, 409, apply(g, "root", p.ID), "the hostname is taken")
}

// TestAtOnce: of users who apply a proposal at the same time, one does.
func TestAtOnce(t *testing.T) {
	featuretest.OnStores(t, testAtOnce, func() *feature.Feature { return proposals.New() })
}

func testAtOnce(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	p := propose(g, "ann", "POST", "/vrfs", object{"name": "red"})
	codes := make([]int, 6)
	var all sync.WaitGroup
	client := g.As("root")
	for i := range codes {
		all.Go(func() { codes[i] = client.Send("POST", "/proposals/"+p.ID+"/apply", nil).Code })
	}
	all.Wait()
	applied := 0
	for _, code := range codes {
		if code == 200 {
			applied++
		} else {
			require.Equal(t, 409, code)
		}
	}
	require.Equal(t, 1, applied)
	require.Len(t, g.List("/vrfs"), 1)
}

// TestReview: the setting refuses direct changes of any form, and lets previews and proposals pass.
func TestReview(t *testing.T) { featuretest.OnStores(t, testReview, withReview) }

func testReview(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	device := &inventory.Device{Hostname: "sw1", IP: "192.0.2.1", Vendor: "V", Model: "M", OS: "O"}
	require.NoError(t, records.New(g.Store, nil).Create(t.Context(), records.Caller{Name: "test"}, device))
	path, id := "/devices/"+device.ID, device.ID
	rows := fmt.Sprintf(`{"_resource":"devices","id":%q,"status":"offline"}`+"\n"+`{"_resource":"devices","hostname":"new","ip":"192.0.2.9","vendor":"V","model":"M","os":"O"}`+"\n", id)
	importing := g.As("ann")
	importing.Header.Set("Content-Type", "application/jsonl")
	for _, sent := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/devices", featuretest.Device("sw2")},
		{"PATCH", path, object{"status": "offline"}},
		{"PUT", path, featuretest.Device("sw1")},
		{"DELETE", path, nil},
		{"PATCH", "/devices", []object{{"id": id, "status": "offline"}}},
		{"DELETE", "/devices", []any{id}},
		{"POST", "/transaction", []object{{"method": "DELETE", "resource": "devices", "items": []any{id}}}},
		{"POST", "/import", rows},
	} {
		as := g.As("ann")
		if sent.path == "/import" {
			as = importing
		}
		w := as.Send(sent.method, sent.path, sent.body)
		require.Equal(t, 403, w.Code, sent.path)
		require.Contains(t, w.Body.String(), "propose", sent.path)
		require.Less(t, as.Send(sent.method, sent.path+"?dry_run=true", sent.body).Code, 300, sent.path)
		if sent.method != "PUT" { // which would change nothing
			require.Equal(t, 202, as.Send(sent.method, sent.path+"?propose=x", sent.body).Code, sent.path)
		}
	}
	require.Equal(t, 400, importing.Send("POST", "/import?propose=x&on_error=skip", rows).Code)
	require.Equal(t, 422, importing.Send("POST", "/import?propose=x", rows+`{"_resource":"devices","status":"none"}`).Code)
	require.Equal(t, 201, g.As("ann").Send("POST", "/vrfs", object{"name": "red"}).Code, "other resources")
	require.Contains(t, g.Page("ann", "/r/devices/"+id+"/edit"), "propose=yes", "the form can be proposed")
	var list struct{ Data []proposal }
	decode(g.As("root").Send("GET", "/proposals", nil).Want(200), &list)
	require.Equal(t, 200, apply(g, "root", list.Data[0].ID), "the import")
	require.Len(t, g.List("/devices?hostname=new"), 1)
	require.Equal(t, 409, apply(g, "root", list.Data[1].ID), "the device has changed")
}

// TestPlaces: rights, scopes and places of readers and of who applies.
func TestPlaces(t *testing.T) {
	featuretest.OnStores(t, testPlaces, func() *feature.Feature { return proposals.New() })
}

func testPlaces(t *testing.T, g *featuretest.API) {
	admin(t, g, "ann")
	here, there := g.Create("/locations", featuretest.Location("Here")), g.Create("/locations", featuretest.Location("There"))
	admin(t, g, "limited", here["id"].(string))
	at := func(name string, location any) object {
		return featuretest.With(featuretest.Device(name), "location_id", location)
	}
	theirs := propose(g, "ann", "POST", "/devices", at("sw1", there["id"]))
	both := propose(g, "ann", "POST", "/devices", []object{at("sw2", there["id"]), at("sw3", here["id"])})
	ours := propose(g, "ann", "POST", "/devices", at("sw4", here["id"]))
	var list struct{ Data []proposal }
	decode(g.As("limited").Send("GET", "/proposals", nil).Want(200), &list)
	require.Len(t, list.Data, 2)
	require.Equal(t, 404, g.As("limited").Send("GET", "/proposals/"+theirs.ID, nil).Code)
	require.Equal(t, 404, apply(g, "limited", theirs.ID))
	var seen proposal
	decode(g.As("limited").Send("GET", "/proposals/"+both.ID, nil).Want(200), &seen)
	require.Equal(t, []any{1, true, false}, []any{len(seen.Changes), seen.Hidden, seen.Decidable})
	require.NotEqual(t, 200, apply(g, "limited", both.ID))
	require.Equal(t, 403, decide(g, "limited", both.ID, "refuse"))
	require.Empty(t, g.List("/devices"))
	require.Equal(t, 200, apply(g, "limited", ours.ID))
	mine := propose(g, "limited", "POST", "/devices", at("sw5", here["id"]))
	require.Equal(t, 200, apply(g, "ann", mine.ID))
	p := propose(g, "ann", "POST", "/vrfs", object{"name": "red"})
	require.Equal(t, 404, g.WithScopes("devices:read").Send("GET", "/proposals/"+p.ID, nil).Code)
	require.Equal(t, 403, g.WithScopes("vrfs:read").Send("POST", "/proposals/"+p.ID+"/apply", nil).Code)
	require.Equal(t, 200, g.WithScopes("vrfs:write", "vrfs:read").Send("POST", "/proposals/"+p.ID+"/apply", nil).Code)
}

// TestPostgres: of users who apply a proposal at the same time, one does, in transactions that run at once.
func TestPostgres(t *testing.T) {
	f := proposals.New()
	schema, err := inventory.NewSchema(feature.Parts(f)...)
	require.NoError(t, err)
	store, err := postgres.Open(t.Context(), postgrestest.Start(t).Database(t), schema, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	testAtOnce(t, featuretest.New(t, store, f))
}

// TestGone: a proposal whose custom field was deleted says so.
func TestGone(t *testing.T) {
	g := featuretest.New(t, nil, proposals.New(), customfields.New())
	admin(t, g, "ann")
	field := g.Create("/custom-fields", object{"name": "owner", "resource": "devices", "type": "text"})
	p := propose(g, "ann", "POST", "/devices", featuretest.With(featuretest.Device("sw1"), "owner", "ann"))
	g.As("root").Send("DELETE", "/custom-fields/"+field["id"].(string), nil).Want(200)
	w := g.As("root").Send("POST", "/proposals/"+p.ID+"/apply", nil).Want(400)
	require.Contains(t, w.Body.String(), "owner")
}

// TestRights compares who may use the operations.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, proposals.New(), map[string]featuretest.Rights{
		"GET /proposals": {Who: "1+++"}, "GET /proposals/{id}": {Who: "1+++"}, "POST /proposals/{id}/apply": {Who: "1+++"}, "POST /proposals/{id}/refuse": {Who: "1+++"},
	})
}

// TestConsole: the pages show proposals, and the import page makes one.
func TestConsole(t *testing.T) {
	g := featuretest.New(t, nil, proposals.New(), imports.New())
	admin(t, g, "ann")
	device := g.Create("/devices", featuretest.Device("sw1"))
	id := device["id"].(string)
	propose(g, "ann", "DELETE", "/devices/"+id, nil)
	require.Contains(t, g.Page("root", "/proposals"), "please")
	var list struct{ Data []proposal }
	decode(g.As("root").Send("GET", "/proposals", nil).Want(200), &list)
	page := "/proposals/" + list.Data[0].ID
	require.NotContains(t, g.Page("ann", page), page+"/apply")
	require.Contains(t, g.Page("root", page), page+"/apply")
	g.As("root").Send("PATCH", "/devices/"+id, object{"status": "offline"}).Want(200)
	require.Contains(t, g.Page("root", page), "When proposed")
	status, _ := g.Form("root", page+"/apply")
	require.Equal(t, 409, status)
	status, _ = g.Form("root", page+"/refuse", "reason", "no")
	require.Equal(t, 303, status)
	status, text := g.Form("ann", "/import?propose=yes", "resource", "vrfs", "text", "name\nred\n", "step", "apply", "_comment", "rows")
	require.Equal(t, 303, status, text)
	require.Empty(t, g.List("/vrfs"))
}
