package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// crate is a record of a program. Its fields have the names of parameters of the console, as far as possible.
type crate struct {
	records.Base
	Code     string     `json:"code" field:"required,unique,max=50,search,index"`
	Value    *int64     `json:"value" field:"min=0"`
	Field    string     `json:"field" field:"max=50"`
	Resource string     `json:"resource" field:"max=50"`
	Status   string     `json:"status" field:"values=full|empty,counted"`
	Sealed   *bool      `json:"sealed"`
	Opened   *time.Time `json:"opened"`
	Site     *string    `json:"site_id" field:"ref=locations:null"`
	Labels   []string   `json:"labels" field:"max=5,search"`
	Remarks  string     `json:"remarks" field:"format=text,max=500"`
}

// harbor returns a store with a resource of a program.
func harbor(t testing.TB) records.Store {
	t.Helper()
	schema, err := inventory.NewSchema(records.Define[crate](records.Definition{Name: "crates", Label: "Crate"}))
	require.NoError(t, err)
	return filled(t, records.NewMemStore(schema), 3)
}

// visit returns the status of a page, where it leads to, and its text.
func visit(t testing.TB, h http.Handler, target string) (status int, location, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", target, nil))
	return w.Code, w.Header().Get("Location"), w.Body.String()
}

// TestAddFilter: the form that adds a filter leads to the list with it.
func TestAddFilter(t *testing.T) {
	t.Parallel()
	store := harbor(t)
	pages, _ := pagesOf(t, store)
	location, err := records.First[inventory.Location](t.Context(), store, "name", "Location 1")
	require.NoError(t, err)
	place := location.ID
	for _, row := range []struct{ why, from, want string }{
		{"a first value", "/r/devices?add-field=status&add-op=eq&add-value=active", "/r/devices?status=active"},
		{"the rest of the view stays, but its page", "/r/devices?q=x&column=ip&limit=25&page=3&add-field=role&add-value=core", "/r/devices?column=ip&limit=25&q=x&role=core"},
		{"a second value is an alternative", "/r/devices?status=active&add-field=status&add-op=eq&add-value=offline", "/r/devices?status__in=active%2Coffline"},
		{"and so is a third", "/r/devices?status__in=active,offline&add-field=status&add-op=eq&add-value=maintenance", "/r/devices?status__in=active%2Coffline%2Cmaintenance"},
		{"the same value again changes nothing", "/r/devices?status=active&add-field=status&add-value=active", "/r/devices?status=active"},
		{"tags must all be there", "/r/devices?tags=a&add-field=tags&add-value=b", "/r/devices?tags=a&tags=b"},
		{"a local time means UTC", "/r/devices?add-field=last_seen&add-op=gte&add-value=2026-01-31T10:30", "/r/devices?last_seen__gte=2026-01-31T10%3A30%3A00Z"},
		{"a relative time stays relative", "/r/devices?add-field=last_seen&add-op=lt&add-value=-30d", "/r/devices?last_seen__lt=-30d"},
		{"values ticked in the panel, and another filter", "/r/devices?column=ip&add-panel=open&add-picked=1&add-pick=status%3Dactive&add-pick=status%3Doffline&add-pick=role%3Dcore&add-pick=tags%3Da&last_seen__lt=-7d&add-field=vendor&add-value=x", "/r/devices?add-panel=open&column=ip&last_seen__lt=-7d&role=core&status__in=active%2Coffline&tags=a&vendor=x"},
		{"nothing ticked in the panel", "/r/devices?add-picked=1&last_seen__lt=", "/r/devices"},
		{"a comparison that a field lacks is its first", "/r/devices?add-field=tags&add-op=gt&add-value=b", "/r/devices?tags=b"},
		{"any address", "/r/devices?add-field=within&add-op=within&add-value=10.0.0.0/8", "/r/devices?within=10.0.0.0%2F8"},
		{"the name of a place has what is within it", "/r/devices?add-field=location_id&add-value=location+1", "/r/devices?below=" + place},
		{"fields with the names of parameters", "/r/crates?value=1&resource=x&add-field=field&add-value=y", "/r/crates?field=y&resource=x&value=1"},
	} {
		status, location, _ := visit(t, pages, row.from)
		require.Equal(t, http.StatusSeeOther, status, row.why)
		require.Equal(t, row.want, location, row.why)
		status, _, text := visit(t, pages, location)
		require.Equal(t, http.StatusOK, status, "%s: %s", row.why, text)
	}
	_, _, text := visit(t, pages, "/r/devices?last_seen__lt=-30d")
	require.Contains(t, text, `value="last_seen" checked`, "how long it is")
	for _, nothing := range []string{"?add-field=frob&add-value=x", "?add-field=status&add-value=%20", "?add-field=status__frob&add-value=1"} {
		status, _, _ := visit(t, pages, "/r/devices"+nothing)
		require.Equal(t, http.StatusOK, status, nothing)
	}
}

// TestListOfProgram: records of a program have a list with everything in it, escaped.
func TestListOfProgram(t *testing.T) {
	t.Parallel()
	store := harbor(t)
	pages, api := pagesOf(t, store)
	locations, _ := store.Schema().Named("locations")
	page, err := store.List(t.Context(), &records.Query{Resource: locations, Limit: 1})
	require.NoError(t, err)
	body := `{"code":"a < b & \"c\"","value":1234,"status":"full","sealed":true,"labels":["x","y"],"site_id":"` + page.Records[0].Meta().ID + `","remarks":"two\nlines"}`
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/crates", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)

	_, _, text := visit(t, pages, "/r/crates?column=code&column=value&column=status&column=sealed&column=labels&column=site_id&column=remarks&column=opened")
	for _, want := range []string{
		`a &lt; b &amp; &#34;c&#34;</a>`, `<td data-label="Value" class="number">1234</td>`, `badge-idle">full</span>`, `<td data-label="Sealed">yes</td>`,
		`<span class="tag">y</span>`, `>Location 0</a>`, "two\nlines", `href="/r/crates/new"`, `data-follow="crates"`,
	} {
		require.Contains(t, text, want)
	}
	_, _, text = visit(t, pages, "/suggest/crates?add-field=site_id&q=")
	require.Contains(t, text, "Location 1")
	_, _, text = visit(t, pages, "/suggest/crates?add-field=labels&add-value=x&resource=&value=7")
	require.Contains(t, text, `href="/r/crates?labels=x&amp;value=7"`)
	status, _, text := visit(t, pages, "/r/crates?frob=1")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "is no filter of this list")
	_, _, text = visit(t, pages, "/search?q=a+%3C")
	require.Contains(t, text, `href="/r/crates?q=a&#43;%3C"`)
}

// TestPortsByDevice: the list of all ports has those of a device together, in the order in which people count.
func TestPortsByDevice(t *testing.T) {
	t.Parallel()
	pages, api := pagesOf(t, harbor(t))
	for _, port := range []string{"access-000000 eth10", "access-000001 eth1", "access-000000 eth2"} {
		device, name, _ := strings.Cut(port, " ")
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/interfaces", strings.NewReader(`{"device":{"hostname":"`+device+`"},"name":"`+name+`"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
	}
	_, _, text := visit(t, pages, "/r/interfaces/export?format=csv&column=name&name__startswith=eth")
	require.Equal(t, "name\r\neth2\r\neth10\r\neth1\r\n", text)
}

// TestExport: a file has the columns, filters and order of the view.
func TestExport(t *testing.T) {
	t.Parallel()
	pages, _ := pagesOf(t, harbor(t))
	_, _, text := visit(t, pages, "/r/devices/export?format=csv&sortby=hostname:desc&column=hostname&column=status&page=7&limit=1&status__ne=maintenance")
	require.Equal(t, "hostname,status\r\naccess-000002,offline\r\naccess-000001,active\r\naccess-000000,active\r\n", text)
	_, _, text = visit(t, pages, "/r/devices/export?format=jsonl")
	require.Equal(t, 3, strings.Count(text, `"created_at"`))
	for _, wrong := range []string{"", "?format=json", "?format=csv&frob=1"} {
		status, _, _ := visit(t, pages, "/r/devices/export"+wrong)
		require.Equal(t, http.StatusBadRequest, status, wrong)
	}
}

// stream reads events of the feed of a server.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	id    string // the last one
}

// follow opens the feed.
func follow(t *testing.T, address string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	return &stream{t: t, lines: bufio.NewScanner(response.Body)}
}

// next returns the name and the data of the next event that has a name.
func (s *stream) next() (name, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "id":
			s.id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				return name, data
			}
		}
	}
	require.Fail(s.t, "the feed has ended")
	return "", ""
}

// position reads until the feed says where it begins.
func (s *stream) position() string {
	for s.id == "" && s.lines.Scan() {
		if id, ok := strings.CutPrefix(s.lines.Text(), "id: "); ok {
			s.id = id
		}
	}
	return s.id
}

// TestLive: a page gets the ids of what changes, continues where it was, and starts over if that is gone.
func TestLive(t *testing.T) {
	t.Parallel()
	store := harbor(t)
	pages, _ := pagesOf(t, store)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	engine := records.New(store, nil)
	change := func(hostname string) string {
		d := &inventory.Device{Hostname: hostname}
		require.NoError(t, engine.Create(t.Context(), records.Caller{Name: "test"}, d))
		return `{"id":"` + d.ID + `","resource":"devices"}`
	}
	feed := follow(t, server.URL+"/live?resource=devices&resource=racks&resource=frob")
	first := feed.position()
	require.NoError(t, engine.Create(t.Context(), records.Caller{Name: "test"}, &inventory.Location{Name: "Elsewhere"}))
	want := change("new")
	name, data := feed.next()
	require.Equal(t, [2]string{"change", want}, [2]string{name, data}, "nothing else but the change of a device")

	again := follow(t, server.URL+"/live?resource=devices&since="+url.QueryEscape(first))
	name, data = again.next()
	require.Equal(t, [2]string{"change", want}, [2]string{name, data})
	require.Equal(t, feed.id, again.id)

	gone := follow(t, server.URL+"/live?resource=devices&since=00000000000fffff-00000000")
	name, _ = gone.next()
	require.Equal(t, "reset", name)
	want = change("later")
	name, data = gone.next()
	require.Equal(t, [2]string{"change", want}, [2]string{name, data})

	status, _, _ := visit(t, pages, "/live?resource=frob")
	require.Equal(t, http.StatusNoContent, status)
	status, _, _ = visit(t, pages, "/live?resource=devices&since=x")
	require.Equal(t, http.StatusBadRequest, status)
}

// TestPalette: single characters and odd texts find commands and records, and never fail.
func TestPalette(t *testing.T) {
	t.Parallel()
	pages, _ := pagesOf(t, harbor(t))
	for text, want := range map[string]string{
		"": "Devices", "d": "Devices", "n": "New", "theme": `value="dark"`, "cra": "Crates", "access-000001": "access-000001", "new crate": `href="/r/crates/new"`,
		"\x00\xff": "", strings.Repeat("x", 300): "",
	} {
		status, _, body := visit(t, pages, "/search?part=palette&q="+url.QueryEscape(text))
		require.Equal(t, http.StatusOK, status, text)
		require.Contains(t, body, want, text)
	}
}
