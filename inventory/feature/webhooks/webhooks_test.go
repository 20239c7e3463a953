package webhooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/proposals"
	"github.com/ashlar-go/ashlar/inventory/feature/webhooks"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

type object = featuretest.Object

// key is a secret of 32 bytes.
var key = []byte("0123456789abcdef0123456789abcdef")

func secret() string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

// rig is an inventory with webhooks, which are delivered unless a test starts the job itself.
type rig struct {
	*featuretest.API
	t       *testing.T
	feature *feature.Feature
}

func newRig(t *testing.T, others ...*feature.Feature) *rig {
	t.Helper()
	t.Parallel()
	f := webhooks.New()
	all := append(others, f)
	schema, err := inventory.NewSchema(feature.Parts(all...)...)
	require.NoError(t, err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), schema, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &rig{featuretest.New(t, store, all...), t, f}
}

// deliver runs the job until the end of the test, or until stop is called.
func (r *rig) deliver(change func(b *feature.Background)) (stop func()) {
	r.t.Helper()
	b := &feature.Background{Engine: records.New(r.Store, &records.Options{Now: r.Now}), Log: slog.New(slog.DiscardHandler), PrivateTargets: true}
	if change != nil {
		change(b)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.feature.Jobs[0](ctx, b) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

// await waits until ok.
func (r *rig) await(what string, ok func() bool) {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("timeout: %s; deliveries: %v", what, r.List("/webhook-deliveries?limit=10"))
		}
	}
}

// receiver keeps the messages that it accepts.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	refuse  int // the status of its responses; 0 accepts
	headers []http.Header
	bodies  []string
}

func (r *rig) receiver() *receiver {
	to := &receiver{}
	to.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		to.mu.Lock()
		defer to.mu.Unlock()
		if to.refuse != 0 {
			w.WriteHeader(to.refuse)
			return
		}
		to.headers, to.bodies = append(to.headers, req.Header.Clone()), append(to.bodies, string(body))
	}))
	r.t.Cleanup(to.Close)
	return to
}

func (to *receiver) respond(status int) {
	to.mu.Lock()
	defer to.mu.Unlock()
	to.refuse = status
}

func (to *receiver) received() []string {
	to.mu.Lock()
	defer to.mu.Unlock()
	return slices.Clone(to.bodies)
}

// rule returns a rule for a receiver.
func (to *receiver) rule(pairs ...any) object {
	return featuretest.With(object{"name": "hook", "url": to.URL, "secret": secret(), "template": `"{{action}} {{resource_type}} {{after.hostname}}"`}, pairs...)
}

// TestRights: admins have rules, and test them.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, webhooks.New(), map[string]featuretest.Rights{
		"POST /webhooks/{id}/test": {Who: "133+", Scope: "webhooks:write"},
	})
}

// TestReadable: whoever saves a rule may list what it sends.
func TestReadable(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	sender := r.WithScopes("webhooks:write", "devices:read")
	sender.Send("POST", "/webhooks", to.rule("resources", []string{"devices"})).Want(201)
	for _, resources := range [][]string{nil, {"users"}, {"devices", "locations"}} {
		sender.Send("POST", "/webhooks", to.rule("name", "more", "resources", resources)).WantError(403, "")
	}
	path := featuretest.Path("/webhooks", r.List("/webhooks")[0])
	sender.Send("PATCH", path, object{"resources": []string{}}).WantError(403, "")
	r.As("root").Send("PATCH", path, object{"resources": []string{}}).Want(200)
	r.As("viewer").Send("GET", path, nil).WantError(403, "")
	r.As("viewer").Send("GET", "/webhook-deliveries", nil).WantError(403, "")
}

// TestMessage: a message is the change, with both signatures, and nobody sees the secret.
func TestMessage(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	r.Create("/devices", featuretest.Device("before"))
	hook := r.Create("/webhooks", to.rule("template", "", "github_signature", true, "resources", []string{"devices"}))
	require.NotContains(t, hook, "secret")
	r.Create("/locations", featuretest.Location("elsewhere"))
	r.Create("/devices", featuretest.Device("core-1"))
	stop := r.deliver(nil)
	r.await("a message", func() bool { return len(to.received()) == 1 })

	var change struct {
		Action       string
		ResourceType string `json:"resource_type"`
		Changes      map[string]struct{ Before, After any }
	}
	require.NoError(t, json.Unmarshal([]byte(to.bodies[0]), &change))
	require.Equal(t, "create device core-1", fmt.Sprint(change.Action, " ", change.ResourceType, " ", change.Changes["hostname"].After))
	h := to.headers[0]
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("webhook-id") + "." + h.Get("webhook-timestamp") + "." + to.bodies[0]))
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), h.Get("webhook-signature"))
	mac = hmac.New(sha256.New, []byte(secret()))
	mac.Write([]byte(to.bodies[0]))
	require.Equal(t, "sha256="+hex.EncodeToString(mac.Sum(nil)), h.Get("X-Hub-Signature-256"))

	stored, err := records.First[webhooks.Webhook](t.Context(), r.Store)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", *stored), "whsec_")
	for _, e := range r.Entries() {
		require.NotContains(t, fmt.Sprint(e.Changes), "whsec_")
	}
	r.await("the log", func() bool { return len(r.List("/webhook-deliveries?state=sent&status=200")) == 1 })
	require.Equal(t, 1.0, r.List("/webhook-states")[0]["sent"])

	stop()
	r.deliver(func(b *feature.Background) { b.Key = []byte("another key") })
	var tested object
	r.As("root").Send("POST", featuretest.Path("/webhooks", hook)+"/test", nil).Want(200).JSON(&tested)
	require.Equal(t, "failed", tested["state"])
	require.Contains(t, tested["error"], "WEBHOOKS_KEY")
}

// TestRules: resources, actions, conditions on fields before and after, locations, and templates.
func TestRules(t *testing.T) {
	r := newRig(t)
	here := r.Create("/locations", featuretest.Location("here"))
	receivers := map[string]*receiver{}
	for name, rule := range map[string]object{
		"all":      {},
		"devices":  {"resources": []string{"devices"}, "actions": []string{"create", "delete"}},
		"offline":  {"resources": []string{"devices"}, "condition": "after.status=offline&before.status__ne=offline&after.hostname__startswith=core"},
		"resource": {"resources": []string{"vrfs"}},
		"here":     {"location_ids": []any{here["id"]}, "resources": []string{"devices"}},
		"template": {"resources": []string{"devices"}, "actions": []string{"update"}, "template": `{"{{action}}": ["{{before.status}}", "\"{{after.hostname}}\" by {{actor}}", "{{changes}}", "{{after.height}}"]}`},
	} {
		receivers[name] = r.receiver()
		body := receivers[name].rule("name", name)
		for field, value := range rule {
			body[field] = value
		}
		r.Create("/webhooks", body)
	}
	r.deliver(nil)
	core := r.Create("/devices", featuretest.With(featuretest.Device("core-1"), "location_id", here["id"]))
	edge := r.Create("/devices", featuretest.Device("edge-1"))
	root := r.As("root")
	for _, d := range []object{core, edge} {
		root.Send("PATCH", featuretest.Path("/devices", d), object{"status": "offline"}).Want(200)
	}
	root.Send("PATCH", featuretest.Path("/devices", core), object{"role": "core"}).Want(200)
	root.Send("DELETE", featuretest.Path("/devices", edge), nil).Want(200)
	r.Create("/vrfs", object{"name": "red"})
	want := map[string][]string{
		"devices":  {"create device core-1", "create device edge-1", "delete device "},
		"offline":  {"update device core-1"},
		"resource": {"create vrf "},
		"here":     {"create device core-1", "update device core-1", "update device core-1"},
		"template": {
			`{"{{action}}": ["active", "\"core-1\" by root", {"status":{"after":"offline","before":"active"}}, null]}`,
			`{"{{action}}": ["active", "\"\" by root", {"status":{"after":"offline","before":"active"}}, null]}`, // it was deleted before
			`{"{{action}}": ["offline", "\"core-1\" by root", {"role":{"after":"core","before":null}}, null]}`,
		},
	}
	r.await("everything passed", func() bool { return slices.Contains(receivers["all"].received(), `"create vrf "`) })
	for name, messages := range want {
		r.await(name, func() bool { return len(receivers[name].received()) >= len(messages) })
		got := receivers[name].received()
		for i, m := range got {
			got[i] = strings.ReplaceAll(strings.Trim(m, `"`), `"\"edge-1\" by`, `"\"\" by`) // if it was sent before the deletion
		}
		require.Equal(t, messages, got, name)
	}
}

// TestProposals: rules send new proposals, and what became of them.
func TestProposals(t *testing.T) {
	r := newRig(t, proposals.New())
	opened, decided := r.receiver(), r.receiver()
	for to, rule := range map[*receiver]object{
		opened: {"name": "open", "condition": "after.status=open", "template": `"{{after.author}}: {{after.comment}}, {{after.summary}}"`}, decided: {"name": "decided", "condition": "after.status__ne=open", "template": `"{{action}} {{actor}}"`},
	} {
		body := to.rule("resources", []string{"proposals"})
		for field, value := range rule {
			body[field] = value
		}
		r.WithScopes("webhooks:write").Send("POST", "/webhooks", body).WantError(403, "")
		r.WithScopes("webhooks:write", "audit-logs:read").Send("POST", "/webhooks", body).Want(201)
	}
	r.deliver(nil)
	var made object
	require.NoError(t, json.Unmarshal(r.As("root").Send("POST", "/locations?propose=for+the+lab", featuretest.Location("lab")).Want(202).Body.Bytes(), &made))
	r.As("root").Send("POST", "/proposals/"+made["id"].(string)+"/refuse", object{}).Want(200)
	r.await("both", func() bool { return len(opened.received()) > 0 && len(decided.received()) > 0 })
	require.Equal(t, []string{`"root: for the lab, Would create 1 location"`}, opened.received())
	require.Equal(t, []string{`"withdraw root"`}, decided.received())
}

// TestBadRules: what is wrong with a rule is said.
func TestBadRules(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	for _, c := range []struct {
		change []any
		words  string
	}{
		{[]any{"secret", nil}, "secret"},
		{[]any{"secret", "abc"}, "secret openssl rand"},
		{[]any{"secret", "whsec_" + base64.StdEncoding.EncodeToString([]byte("short"))}, "secret 24"},
		{[]any{"url", "ftp://example.org"}, "url"},
		{[]any{"url", "example"}, "url"},
		{[]any{"resources", []string{"device"}}, "resources"},
		{[]any{"resources", []string{"metrics"}}, "resources audit log"},
		{[]any{"resources", []string{"sessions"}}, "resources audit log"},
		{[]any{"actions", []string{"updated"}}, "actions update"},
		{[]any{"condition", "after.status=offline"}, "condition resources"},
		{[]any{"condition", "status=offline", "resources", []string{"devices"}}, "condition status before."},
		{[]any{"condition", "after.state=offline", "resources", []string{"devices"}}, "condition after.state"},
		{[]any{"condition", "after.status=off", "resources", []string{"devices"}}, "condition after.status offline"},
		{[]any{"condition", "after.limit=1", "resources", []string{"devices"}}, "condition"},
		{[]any{"condition", "after.status=offline", "resources", []string{"devices", "locations"}}, "condition"},
		{[]any{"location_ids", []string{featuretest.Unknown}}, "location_ids"},
		{[]any{"template", "{{action}}"}, "template JSON"},
		{[]any{"template", `"{{hostname}}"`}, "template hostname after."},
	} {
		r.As("root").Send("POST", "/webhooks", to.rule(c.change...)).WantError(400, c.words)
	}
	hook := r.Create("/webhooks", to.rule())
	r.As("root").Send("POST", "/webhooks", to.rule()).WantError(409, "name")
	r.As("root").Send("PATCH", featuretest.Path("/webhooks", hook), object{"secret": "x"}).WantError(400, "secret openssl")
	r.As("root").Send("PUT", featuretest.Path("/webhooks", hook), to.rule("secret", nil)).Want(200)
	r.deliver(nil)
	r.await("the rule keeps its secret", func() bool { return len(to.received()) > 0 })
}

// TestParked: a receiver that fails for a day delays the changes, in their order; then they are parked one by one, and sent
// again on request.
func TestParked(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	to.respond(503)
	hook := r.Create("/webhooks", to.rule("resources", []string{"devices"}))
	r.Create("/devices", featuretest.Device("d1"))
	r.Create("/devices", featuretest.Device("d2"))
	counted := map[string]int{}
	var mu sync.Mutex
	r.deliver(func(b *feature.Background) {
		b.Count = func(name string, labels ...string) {
			mu.Lock()
			defer mu.Unlock()
			counted[name+fmt.Sprint(labels)]++
		}
	})
	count := func(query string) int { return len(r.List("/webhook-deliveries?" + query)) }
	r.await("a failure", func() bool { return count("state=failed&status=503") == 1 })
	state := r.List("/webhook-states")[0]
	require.Equal(t, "1 2026-01-31T12:00:00Z", fmt.Sprint(state["failures"], " ", state["failing_since"]))
	for _, d := range []time.Duration{6 * time.Second, time.Minute, 23 * time.Hour} {
		before := count("state=failed")
		r.Forward(d)
		r.await("another attempt", func() bool { return count("state=failed") == before+1 })
	}
	r.Forward(time.Hour)
	r.await("both are parked", func() bool { return count("state=parked") == 2 })
	require.Empty(t, to.received())

	root := r.As("root")
	parked := r.List("/webhook-deliveries?state=parked&sortby=id:asc")
	require.Contains(t, parked[0]["body"], "create device d1")
	item := featuretest.Path("/webhook-deliveries", parked[0])
	root.Send("PATCH", item, object{"state": "sent"}).WantError(400, "state")
	root.Send("PATCH", item, object{"body": "x"}).WantError(400, "body")
	root.Send("PATCH", item, object{"state": "queued"}).Want(200)
	r.await("it fails again", func() bool { return count("state=queued") == 0 })
	require.Equal(t, 2, count("state=parked"))

	to.respond(0)
	status, _ := r.Form("root", "/webhooks/"+hook["id"].(string)+"/again")
	require.Equal(t, 303, status)
	r.await("both are sent", func() bool { return count("state=sent") == 2 })
	require.Equal(t, []string{`"create device d1"`, `"create device d2"`}, to.received())
	r.Create("/devices", featuretest.Device("d3"))
	r.await("the next change", func() bool { return len(to.received()) == 3 })
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 3, counted["webhook_messages_total[hook parked]"]) // one of them twice
	require.Equal(t, 3, counted["webhook_messages_total[hook sent]"])
}

// TestPaused: a paused rule sends tests only, and everything else when it goes on; so does one whose failure was mended.
func TestPaused(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	hook := r.Create("/webhooks", to.rule("paused", true))
	r.deliver(nil)
	r.Create("/devices", featuretest.Device("d1"))
	page := "/webhooks/" + hook["id"].(string)
	status, _ := r.Form("root", page+"/test")
	require.Equal(t, 303, status)
	require.Equal(t, []string{`"test webhook "`}, to.received())
	require.Contains(t, r.Page("root", "/r"+page), "Paused")
	to.respond(500)
	status, _ = r.Form("root", page+"/resume")
	require.Equal(t, 303, status)
	r.await("a failure", func() bool { return len(r.List("/webhook-deliveries?state=failed")) == 1 })
	require.Contains(t, r.Page("root", "/r"+page), "Failing since")
	to.respond(0)
	r.As("root").Send("PATCH", page, object{"template": `"mended"`}).Want(200)
	r.await("it is tried at once", func() bool { return slices.Contains(to.received(), `"mended"`) })
	status, _ = r.Form("root", page+"/explode")
	require.Equal(t, 404, status)
	r.As("root").Send("DELETE", page, nil).Want(200)
	require.Empty(t, r.List("/webhook-deliveries"))
}

// TestPruned: changes that were deleted from the audit log before they were sent are missing, and the log says so.
func TestPruned(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	hook := r.Create("/webhooks", to.rule("paused", true, "resources", []string{"devices"}))
	for n := range 5 {
		r.Create("/devices", featuretest.Device(fmt.Sprint("d", n)))
	}
	engine := records.New(r.Store, nil)
	_, err := engine.Prune(t.Context(), records.Caller{Name: "test"}, records.Of[records.AuditLog](r.Store.Schema()), records.Retention{MaxRecords: 3})
	require.NoError(t, err)
	r.deliver(nil)
	r.As("root").Send("PATCH", featuretest.Path("/webhooks", hook), object{"paused": false}).Want(200)
	r.Create("/devices", featuretest.Device("last"))
	r.await("the last change", func() bool { return slices.Contains(to.received(), `"create device last"`) })
	require.Less(t, len(to.received()), 6)
	r.await("the log", func() bool { return len(r.List("/webhook-deliveries?error__contains=deleted")) == 1 })
}

// TestTargets: addresses that are not public, by their number or name, redirects, and responses that are large or slow.
func TestTargets(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	port := to.URL[strings.LastIndex(to.URL, ":"):]
	slow := make(chan struct{})
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/redirect":
			http.Redirect(w, req, to.URL, http.StatusTemporaryRedirect)
		case "/huge":
			for range 1 << 14 { // 1 GiB
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		case "/slow":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-slow
		}
	}))
	t.Cleanup(strange.Close)
	t.Cleanup(func() { close(slow) })
	hook := r.Create("/webhooks", to.rule("paused", true))
	path := featuretest.Path("/webhooks", hook)
	try := func(url, state, words string) {
		t.Helper()
		r.As("root").Send("PATCH", path, object{"url": url}).Want(200)
		began := time.Now()
		var d object
		r.As("root").Send("POST", path+"/test", nil).Want(200).JSON(&d)
		require.Equal(t, state, d["state"], "%s: %v", url, d)
		require.Contains(t, d["error"], words, url)
		require.Less(t, time.Since(began), 12*time.Second)
	}
	stop := r.deliver(func(b *feature.Background) { b.PrivateTargets = false })
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fd00::1]", "100.64.0.1"} {
		try("http://"+host+port, "failed", "WEBHOOKS_PRIVATE")
	}
	stop()
	r.deliver(nil)
	try("http://localhost"+port, "sent", "")
	try(strange.URL+"/redirect", "failed", "redirect")
	try(strange.URL+"/huge", "sent", "")
	try(strange.URL+"/header", "failed", "")
	try(strange.URL+"/slow", "sent", "")
	try("http://127.0.0.1:1", "failed", "refused")
	require.Len(t, to.received(), 1)
}

// TestProcesses: of several processes one delivers, and another one goes on when it ends.
func TestProcesses(t *testing.T) {
	r := newRig(t)
	to := r.receiver()
	r.Create("/webhooks", to.rule("resources", []string{"vrfs"}, "template", `"{{after.name}}"`))
	var want []string
	engine := records.New(r.Store, nil)
	create := func() {
		for range 50 {
			name := fmt.Sprint("v", len(want))
			want = append(want, `"`+name+`"`)
			require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.VRF{Name: name}))
		}
	}
	first := r.deliver(nil)
	create()
	r.await("the first delivers", func() bool { return len(to.received()) > 0 })
	r.deliver(nil)
	create()
	first()
	create()
	r.await("the second goes on", func() bool { return len(to.received()) >= len(want) })
	require.Equal(t, want, to.received())
}
