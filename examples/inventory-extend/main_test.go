package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

// list is a page.
type list struct {
	Meta map[string]any   `json:"meta"`
	Data []map[string]any `json:"data"`
}

func client(t *testing.T, file string) *httpxtest.Client {
	t.Helper()
	handler, err := routes(t.Context(), file)
	require.NoError(t, err)
	c := httpxtest.New(t, handler)
	c.Header.Set("X-User", "admin")
	return c
}

// TestCabinets: cabinets, and the cabinet of a device, have all that other records and fields have.
func TestCabinets(t *testing.T) {
	t.Parallel()
	c := client(t, filepath.Join(t.TempDir(), "inventory.db"))
	pages := func(target string) (names []any) {
		for cursor := "&cursor="; cursor != ""; {
			var page list
			c.Send("GET", target+cursor, nil).Want(200).JSON(&page)
			for _, rec := range page.Data {
				names = append(names, rec["name"])
			}
			cursor = ""
			if next, more := page.Meta["next_cursor"]; more {
				cursor = "&cursor=" + next.(string)
			}
		}
		return names
	}

	c.Send("POST", "/cabinets?dry_run=true", `{"name":"r1","units":42}`).WantHeader("Dry-Run", "true")
	c.Send("POST", "/cabinets", `{"name":"r0","units":99}`).WantError(400, "units 60")
	made := c.Send("POST", "/cabinets", `{"name":"r1","units":42}`, "Idempotency-Key", "k").Want(201)
	c.Send("POST", "/cabinets", `{"name":"r1","units":42}`, "Idempotency-Key", "k").Want(201).WantHeader("Idempotent-Replayed", "true")
	c.Send("POST", "/cabinets", `{"name":"R1","units":42}`).WantError(409, "Name already exists")
	var cabinet map[string]any
	made.JSON(&cabinet)
	require.Equal(t, "R1", cabinet["name"], "the hook")
	c.Send("POST", "/cabinets", `[{"name":"r3","units":10},{"name":"r2","units":42}]`).Want(201)
	require.Equal(t, []any{"R1", "R2", "R3"}, pages("/cabinets?limit=2"), "the order of the definition")
	require.Equal(t, []any{"R2", "R1"}, pages("/cabinets?limit=1&units__gte=11&sortby=units:desc&sortby=name:desc"))
	c.Send("GET", "/cabinets?color=red", nil).WantError(400, "color is an unknown")

	at := "/cabinets/" + cabinet["id"].(string)
	tag := c.Send("GET", at, nil).Want(200).Header().Get("Etag")
	c.Send("PATCH", at, `{"units":20}`, "If-Match", tag).Want(200)
	c.Send("PATCH", at, `{"units":21}`, "If-Match", tag).WantError(412, "")

	c.Send("POST", "/cabinets", `{"name":"r9","units":1}`, "X-User", "guest").WantError(403, "Forbidden")
	c.Send("POST", "/cabinets", `{"name":"r9","units":1}`, "X-User", "facility").Want(201)
	const device = `{"hostname":"h%d","ip":"192.0.2.1","model":"m","vendor":"v","os":"o","status":"active","cabinet_id":"%s"}`
	c.Send("POST", "/devices", fmt.Sprintf(device, 1, cabinet["id"]), "X-User", "facility").WantError(403, "Forbidden")

	c.Send("POST", "/devices", fmt.Sprintf(device, 1, "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")).WantError(400, "cabinet_id cabinets")
	c.Send("POST", "/devices", fmt.Sprintf(device, 1, cabinet["id"])).Want(201)
	c.Send("POST", "/devices", strings.Replace(fmt.Sprintf(device, 2, ""), `"cabinet_id":""`, `"cabinet_id":null`, 1)).Want(201)
	var found list
	c.Send("GET", "/devices?sortby=cabinet_id:asc&fields=hostname,cabinet_id&cabinet_id="+cabinet["id"].(string), nil).Want(200).JSON(&found)
	require.Equal(t, []map[string]any{{"hostname": "h1", "cabinet_id": cabinet["id"]}}, found.Data)
	c.Send("DELETE", at, nil).Want(200)
	c.Send("GET", "/devices?cabinet_id__isnull=true&limit=1", nil).Want(200).JSON(&found)
	require.EqualValues(t, 2, found.Meta["total_count"])

	c.Send("GET", "/audit-logs?resource_type=cabinet&sortby=id:asc", nil).Want(200).JSON(&found)
	require.Equal(t, map[string]any{
		"name": map[string]any{"before": nil, "after": "R1"}, "units": map[string]any{"before": nil, "after": 42.0},
	}, found.Data[0]["changes"])
	c.Send("GET", "/audit-logs?resource_type=device&action=create", nil).Want(200).JSON(&found)
	require.Contains(t, fmt.Sprint(found.Data), "cabinet_id:map[after:"+cabinet["id"].(string))
	doc := c.Send("GET", "/openapi.json", nil).Want(200).Body.String()
	for _, want := range []string{`"/cabinets/{id}"`, `"cabinet_id"`, `"cabinet_id__isnull"`, `"units__gte"`} {
		require.Contains(t, doc, want)
	}
}
