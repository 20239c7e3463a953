package events_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/events"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

type object = featuretest.Object

// TestRights: who may change events acknowledges them.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, events.New(), map[string]featuretest.Rights{
		"PATCH /events/{id}": {Who: "133+", Scope: "events:write"},
		"PATCH /events":      {Who: "133+", Scope: "events:write"},
	})
}

// TestAcknowledge checks that an acknowledgement records the user and the time, and does not
// replace an earlier one.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, events.New())
	e := g.Create("/events", object{"severity": "critical", "type": "security", "message": "Door open"})
	at := featuretest.Path("/events", e)
	c := g.As("root")
	g.Forward(time.Minute)
	seen := featuretest.Read(t, c.Send("PATCH", at, `{"acknowledged":true}`).Want(200))
	for name, want := range (object{"acknowledged_at": "2026-01-31T12:01:00Z", "acknowledged_by": g.Users["root"].ID, "version": 2.0}) {
		if seen[name] != want {
			t.Errorf("%s is %v, want %v", name, seen[name], want)
		}
	}
	g.Forward(time.Minute)
	second := g.Create("/users", object{"username": "second", "email": "second@example.org", "password": featuretest.Password, "role": "admin"})
	g.Users["second"] = &inventory.User{Base: records.Base{ID: second["id"].(string)}, Username: "second", Role: inventory.Admin}
	again := featuretest.Read(t, g.As("second").Send("PATCH", at, `{"acknowledged":true}`).Want(200))
	if !reflect.DeepEqual(again, seen) {
		t.Errorf("acknowledged again it is %v", again)
	}
	undone := featuretest.Read(t, c.Send("PATCH", "/events", []object{{"id": e["id"], "acknowledged": false, "if_version": 2}}).Want(200))
	if rec := undone["results"].([]any)[0].(object); rec["acknowledged_at"] != nil || rec["acknowledged_by"] != nil {
		t.Errorf("undone it is %v", rec)
	}
	for body, message := range map[string]string{
		`{}`:                                  "acknowledged true",
		`{"acknowledged":1}`:                  "acknowledged true",
		`{"acknowledged":null}`:               "acknowledged true",
		`{"acknowledged":true,"message":"x"}`: "message changed",
		`{"acknowledged_at":"2001-01-01T00:00:00Z"}`:                            "acknowledged_at changed",
		`{"acknowledged":true,"acknowledged_by":"` + featuretest.Unknown + `"}`: "acknowledged_by can't be changed",
	} {
		c.Send("PATCH", at, body).WantError(400, message)
		c.Send("PATCH", "/events", "["+strings.Replace(body, "{", `{"id":"`+e["id"].(string)+`"`+comma(body), 1)+"]").WantError(400, message)
	}
	c.Send("PUT", at, e).WantError(405, "use DELETE, GET, HEAD, PATCH")
}

// comma returns the separator between a new first member and the others of an object.
func comma(object string) string {
	if object == "{}" {
		return ""
	}
	return ","
}

// TestAcknowledgedFromOutside checks that a new event can't be acknowledged.
func TestAcknowledgedFromOutside(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, events.New())
	e := g.Create("/events", object{
		"severity": "low", "type": "x", "message": "y", "acknowledged_at": "2001-01-01T00:00:00Z", "acknowledged_by": featuretest.Unknown,
	})
	if e["acknowledged_at"] != nil || e["acknowledged_by"] != nil {
		t.Errorf("the event is %v", e)
	}
}
