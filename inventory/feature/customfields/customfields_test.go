package customfields_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/feature/customfields"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: admins delete custom fields.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, customfields.New(), map[string]featuretest.Rights{
		"DELETE /custom-fields/{id}": {Who: "133+", Scope: "custom-fields:write"},
	})
}

// TestCustomFields declares, uses and removes a custom field over HTTP.
func TestCustomFields(t *testing.T) { featuretest.OnStores(t, customFields, customfields.New) }

func customFields(t *testing.T, g *featuretest.API) {
	c := g.As("root")
	const draft = `{"resource":"locations","name":"tier","type":"choice","label":"Service level","choices":["Gold","silver"]}`
	before := c.Send("GET", "/openapi.json", nil).Want(200)
	if strings.Contains(before.Body.String(), "Service level") {
		t.Error("the document has the field before it is declared")
	}
	g.As("viewer").Send("POST", "/custom-fields", draft).WantError(403, "Forbidden")
	g.As("viewer").Send("GET", "/custom-fields", nil).WantError(403, "Forbidden")
	site := g.Create("/locations", `{"name":"a","city":"a","country":"a","address":"a"}`)
	at := featuretest.Path("/locations", site)

	c.Send("POST", "/custom-fields?dry_run=true", draft)
	c.Send("PATCH", at, `{"tier":"gold"}`).WantError(400, "tier unknown")
	made := c.Send("POST", "/custom-fields", draft, "Idempotency-Key", "k").Want(201)
	c.Send("POST", "/custom-fields", draft, "Idempotency-Key", "k").Want(201).WantHeader("Idempotent-Replayed", "true")
	c.Send("POST", "/custom-fields", draft).WantError(409, "field tier")
	field := made.Header().Get("Location")

	var rec object
	c.Send("GET", at, nil).Want(200).JSON(&rec)
	if value, ok := rec["tier"]; !ok || value != "" {
		t.Errorf("tier is %v", value)
	}
	c.Send("PATCH", at, `{"tier":"iron"}`).WantError(400, "tier gold")
	c.Send("PATCH", at, `{"tier":"GOLD"}`).Want(200)
	if change := g.Last().Changes["tier"]; change.After != "gold" {
		t.Errorf("the audit log has %v", g.Last().Changes)
	}
	c.Send("POST", "/locations", `[{"name":"b","city":"a","country":"a","address":"a","tier":"silver"},{"name":"c","city":"a","country":"a","address":"a"}]`).Want(201)
	for query, want := range map[string]string{
		"tier=gold": `"name":"a"`, "tier__in=silver,iron": "must be one of", "sortby=tier:desc&limit=1": `"name":"b"`, "tier__isnull=true": `"name":"c"`,
	} {
		if got := c.Send("GET", "/locations?fields=name&"+query, nil).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
	after := c.Send("GET", "/openapi.json", nil, "If-None-Match", before.Header().Get("ETag")).Want(200).Body.String()
	for _, want := range []string{"Service level", `"tier__in"`} {
		if !strings.Contains(after, want) {
			t.Errorf("the document has no %s", want)
		}
	}

	c.Send("PATCH", field, `{"choices":["gold"]}`).WantError(400, "choices locations")
	c.Send("PATCH", field, `{"choices":["gold","silver","iron"],"label":"Level"}`).Want(200)
	c.Send("PATCH", at, `{"tier":"iron"}`).Want(200)
	preview := c.Send("DELETE", field+"?dry_run=true", nil).Want(200).Body.String()
	if !errtest.Names(preview, "1 tier 2 locations") || !json.Valid([]byte(preview)) {
		t.Errorf("the dry run says %s", preview)
	}
	c.Send("GET", "/locations?tier=iron", nil).Want(200)
	c.Send("DELETE", field, nil).Want(200)
	c.Send("GET", "/locations?tier=iron", nil).WantError(400, "tier is an unknown")
	c.Send("GET", "/locations?sortby=tier:asc", nil).WantError(400, "sortby must be")
	c.Send("GET", at, nil).Want(200).JSON(&rec)
	if strings.Contains(c.Send("GET", at, nil).Body.String(), "tier") {
		t.Error("a removed field is shown")
	}
	c.Send("POST", "/custom-fields", `[{"resource":"locations","name":"one","type":"text"},{"resource":"nothing","name":"two","type":"text"}]`).WantError(400, "")
	c.Send("GET", "/locations?one=x", nil).WantError(400, "one is an unknown")
}
