package httpapi_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestTimes checks that times in any zone are stored, shown and filtered in UTC.
func TestTimes(t *testing.T) { stores(t, scaletest.Unraced, times) }

func times(t *testing.T, g *harness) {
	t.Helper()
	const sent, stored = "2026-01-31T13:30:00.25+05:30", "2026-01-31T08:00:00.25Z"
	d := g.create("/devices", with(device("core-1"), "last_seen", sent))
	c := g.as("root")
	changed := read(t, c.Send("PATCH", path("/devices", d), object{"last_seen": sent, "role": "core"}).Want(200))
	replaced := read(t, c.Send("PUT", path("/devices", d), with(device("core-1"), "last_seen", sent)).Want(200))
	again := read(t, c.Send("GET", path("/devices", d), nil).Want(200))
	for what, rec := range map[string]object{"created": d, "changed": changed, "replaced": replaced, "read": again} {
		if rec["last_seen"] != stored {
			t.Errorf("%s: last_seen is %v", what, rec["last_seen"])
		}
		for _, name := range []string{"created_at", "updated_at"} {
			if at := rec[name].(string); at[len(at)-1] != 'Z' {
				t.Errorf("%s: %s is %s", what, name, at)
			}
		}
	}
	found := data(t, c.Send("GET", "/devices?last_seen="+escape("2026-01-31T03:00:00.25-05:00"), nil))
	if len(found) != 1 {
		t.Errorf("%d found by the same time in another zone", len(found))
	}
}
