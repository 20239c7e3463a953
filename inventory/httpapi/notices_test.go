package httpapi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestNotices: users are notified by email of a new password, whoever set it, and about a new email
// address, at both addresses.
func TestNotices(t *testing.T) { stores(t, scaletest.Unraced, notices) }

func notices(t *testing.T, g *harness) {
	t.Helper()
	at := "/users/" + g.users["viewer"].ID
	own, root := g.as("viewer"), g.as("root")
	check := func(why, want string, send func()) {
		t.Helper()
		send()
		if got := g.mails.newNotices(); got != want {
			t.Errorf("%s sends\n%s\nwant\n%s", why, got, want)
		}
	}
	const changed, from = "viewer@example.org: password changed by ", " from 192.0.2.1"
	check("their own password", changed+"owner"+from, func() {
		own.Send("PUT", at+"/password", object{"new_password": another, "current_password": password}).Want(200)
	})
	check("a password set by an admin", changed+"admin"+from, func() { root.Send("PATCH", at, object{"password": password}).Want(200) })
	check("a reset", changed+"code"+from, func() {
		g.forgot("viewer@example.org")
		g.reset(g.mails.last(t), another)
	})
	const both = "viewer@example.org: email changed by admin" + from + "\nv@example.org: email set by admin" + from
	check("a new address", both, func() { root.Send("PATCH", at, object{"email": "v@example.org"}).Want(200) })
	check("both, of several users", "v@example.org: password changed by admin"+from+"\n"+
		strings.ReplaceAll("v@example.org: email changed by admin!\nviewer@example.org: email set by admin!", "!", from), func() {
		root.Send("PATCH", "/users", []object{
			{"id": g.users["viewer"].ID, "email": "viewer@example.org", "password": password}, {"id": g.users["editor"].ID, "first_name": "E"},
		}).Want(200)
	})
	check("what fails or is a dry run", "", func() {
		root.Send("PATCH", at+"?dry_run=true", object{"email": "v@example.org"}).Want(200)
		root.Send("PATCH", at, object{"email": "editor@example.org"}).Want(409)
		root.Send("PUT", at+"/password?dry_run=true", object{"new_password": another}).Want(200)
		root.Send("PATCH", at, object{"first_name": "V", "email": "viewer@example.org"}).Want(200)
		g.login(t, "viewer", password).Want(200)
	})
	g.mails.fail = errors.New("the queue is full")
	check("a full queue", "", func() { root.Send("PATCH", at, object{"email": "v@example.org"}).Want(200) })
	if text := g.log.String(); strings.Count(text, "the queue is full") != 2 || strings.Contains(text, "v@example.org") {
		t.Errorf("the log is %s", text)
	}
}

// TestNoticesAreBounded: who changes an address again and again does not flood it.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	at := "/users/" + g.users["viewer"].ID
	for range 20 {
		g.as("root").Send("PATCH", at, object{"email": "victim@example.org"}).Want(200)
		g.as("root").Send("PATCH", at, object{"email": "viewer@example.org"}).Want(200)
	}
	if n := strings.Count(g.mails.newNotices(), "victim@example.org"); n != 20 {
		t.Errorf("the victim gets %d mails", n)
	}
}
