package httpapi_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// everyKind is a schema whose devices have a field of each kind.
func everyKind(t *testing.T) *records.Schema {
	t.Helper()
	s, err := inventory.NewSchema(
		records.Extend("devices", "height", records.Float, ""), records.Extend("devices", "units", records.Int, ""),
		records.Extend("devices", "managed", records.Bool, ""), records.Extend("devices", "bought", records.Time, ""),
		records.Extend("devices", "nicknames", records.List, "max=5"), records.Extend("devices", "homepage", records.Text, "format=url,max=500"),
		records.Extend("devices", "on", records.Text, "max=100"), records.Extend("devices", "spare", records.Text, "ref=devices:null"))
	ok(t, err)
	return s
}

// awkward are values that a careless format would change.
func awkward() []object {
	texts := []string{
		"=1+1", "+49 30", "-x", "@home", "'", "'=", "''x", "a,b", `say "hi"`, "ends with a quote\"", "null", "true", "~", "0x1F", "1e3", "12:30", "- x", "# x", "a: b",
		"é\u2028\ufeff𝄞", "＝1", `back\slash`, "{{ x }}", "%", "&a", "*a",
	}
	all := []object{{"hostname": "bare"}}
	for i, text := range texts {
		all = append(all, object{
			"hostname": fmt.Sprintf("d%d", i), "model": text, "os": text, "notes": text + "\nsecond line\n\tthird, \"x\"\n", "tags": []string{text, "b c"},
			"nicknames": []string{text}, "height": []float64{-1.5, 0, 1e-9, 1e21, 123456.789}[i%5], "units": -i, "managed": i%2 == 0,
			"bought": "2026-01-31T12:00:00.123456Z", "last_seen": "1970-01-01T00:00:00Z", "homepage": "https://example.org/?a=1,2", "ip": "2001:db8::1", "on": "no",
		})
	}
	return all
}

// TestFormats: CSV, JSON lines and YAML have the same records as the pages in JSON, whatever their values.
func TestFormats(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: records.NewMemStore(everyKind(t))})
	g.create("/locations", with(location("Berlin"), "lat", -52.5, "lon", 0.0000001))
	first := g.create("/devices", device("first"))
	for _, d := range awkward() {
		g.create("/devices", with(d, "spare", first["id"]))
	}
	at := g.create("/interfaces", port(first["id"], "=eth0"))
	g.create("/events", object{"severity": "high", "type": "x", "message": "-\r\nlines", "interface_id": at["id"]})
	g.create("/metrics", object{"device_id": first["id"], "cpu": 1.5})
	c := g.as("root")
	for _, list := range []string{"devices", "locations", "interfaces", "events", "users", "audit-logs?resource_type=device", "devices?fields=model&sortby=model:desc", "metrics?latest=false"} {
		name, _, _ := strings.Cut(list, "?")
		r, _ := g.store.Schema().Named(name)
		sep := "?"
		if strings.Contains(list, "?") {
			sep = "&"
		}
		want := data(t, c.Send("GET", "/"+list+sep+"limit=100", nil))
		for _, rec := range want {
			if name == "metrics" {
				delete(rec, "hostname") // no field
			}
		}
		for format, contentType := range map[string]string{"csv": "text/csv; charset=utf-8; header=present", "jsonl": "application/x-ndjson", "yaml": "application/yaml"} {
			a := c.Send("GET", "/"+list+sep+"format="+format, nil).Want(200).WantHeader("Content-Type", contentType).
				WantHeader("Content-Disposition", `attachment; filename="`+name+"."+format+`"`)
			got := decodeAs(t, format, r, a.Body.Bytes())
			if len(got) != len(want) {
				t.Errorf("%s as %s has %d records, want %d", list, format, len(got), len(want))
				continue
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%s as %s: record %d is read as\n%v, want\n%v", list, format, i, got[i], want[i])
				}
			}
		}
	}
	for format, want := range map[string]string{"csv": "hostname,ip\r\n", "jsonl": "", "yaml": "[]\n"} {
		if got := c.Send("GET", "/devices?hostname=none&fields=hostname,ip&format="+format, nil).Want(200).Body.String(); got != want {
			t.Errorf("no records as %s are %q, want %q", format, got, want)
		}
	}
}

// decodeAs reads records in a format.
func decodeAs(t *testing.T, format string, r *records.Resource, body []byte) []object {
	t.Helper()
	var all []object
	switch format {
	case "yaml":
		var doc any
		ok(t, yaml.Unmarshal(body, &doc))
		encoded, err := json.Marshal(doc)
		ok(t, err)
		ok(t, json.Unmarshal(encoded, &all))
	case "jsonl":
		for line := range strings.Lines(string(body)) {
			var rec object
			ok(t, json.Unmarshal([]byte(line), &rec))
			all = append(all, rec)
		}
	case "csv":
		// encoding/csv would take the carriage return out of CR LF in a cell.
		rows, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(string(body), "-\r\nlines", "-\r\r\nlines"))).ReadAll()
		ok(t, err)
		for _, row := range rows[1:] {
			rec := object{}
			for i, cell := range row {
				f, known := r.Field(rows[0][i])
				if !known {
					t.Fatalf("the column %s is no field", rows[0][i])
				}
				rec[f.Name] = decodeCell(t, f, cell)
			}
			all = append(all, rec)
		}
	}
	return all
}

// decodeCell returns the value of a cell as encoding/json decodes it.
func decodeCell(t *testing.T, f *records.Field, cell string) (value any) {
	t.Helper()
	switch {
	case f.Kind == records.Text && (cell != "" || !f.Nullable):
		return records.UnescapeCell(cell)
	case cell == "":
		return nil
	case f.Kind == records.Time:
		return cell
	}
	ok(t, json.Unmarshal([]byte(cell), &value))
	return value
}

// TestFormulas: no cell of a text begins like a formula, and escaping is undone for every text.
func TestFormulas(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	for i, text := range []string{"=cmd", "+x", "-x", "@x", "＝x", "'x", "x"} {
		g.create("/locations", with(location("n"), "site_code", fmt.Sprint(i), "city", text, "address", text+"\n=x"))
	}
	body := g.as("viewer").Send("GET", "/locations?format=csv&fields=city", nil).Want(200).Body.String()
	if want := "city\r\n'=cmd\r\n'+x\r\n'-x\r\n'@x\r\n'＝x\r\n''x\r\nx\r\n"; body != want {
		t.Errorf("the cells are %q, want %q", body, want)
	}
	for _, text := range []string{"", "'", "''", "'''", "'a", "=", "'=", "''=", "a", "\t=", "\r", "＠"} {
		if got := records.UnescapeCell(records.EscapeCell(text)); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestAccept: the parameter counts more than Accept, of which the best format is sent.
func TestAccept(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("viewer")
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/csv": "text/csv", "text/*": "text/csv", "application/*": "application/json",
		"application/yaml": "application/yaml", "text/yaml;q=0.5, text/csv;q=0.4": "application/yaml", "application/jsonl": "application/x-ndjson",
		"text/csv, */*": "text/csv", "text/csv;q=0.1, application/json;q=0.2": "application/json", "text/html,application/xml;q=0.9,*/*;q=0.8": "application/json",
		"text/csv;header=absent;q=0.3,application/json;q=0": "text/csv", "application/problem+json": "application/json", "TEXT/CSV": "text/csv",
	} {
		got := c.Send("GET", "/devices", nil, "Accept", accept).Want(200).Header().Get("Content-Type")
		if kind, _, _ := strings.Cut(got, ";"); kind != want {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
		}
	}
	for _, accept := range []string{"text/html", "*/*;q=0", "application/json;q=0"} {
		if a := c.Send("GET", "/devices", nil, "Accept", accept).Want(406); !strings.Contains(a.Body.String(), "application/json, text/csv, application/x-ndjson, application/yaml") {
			t.Errorf("Accept %q: %s", accept, a.Body)
		}
	}
	c.Send("GET", "/devices?format=yaml", nil, "Accept", "text/csv").Want(200).WantHeader("Content-Type", "application/yaml")
	if a := c.Send("GET", "/devices?format=xml", nil).Want(400); !strings.Contains(a.Body.String(), "json, csv, jsonl, yaml") {
		t.Error(a.Body)
	}
	c.Send("GET", "/users?format=csv", nil).Want(403)
	c.Send("GET", "/devices?format=csv&nmae=x", nil).Want(400)
	g.as("").Send("GET", "/devices?format=csv", nil).Want(401)
}

// TestReservedNames: no custom field has the name of a member or a parameter that requests with filters have beside fields,
// also one of a feature.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	ok(t, err)
	g := newHarness(t, &choices{store: records.NewMemStore(schema)})
	c := g.as("root")
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	ok(t, json.Unmarshal(c.Send("GET", "/openapi.json", nil).Want(200).Body.Bytes(), &doc))
	devices := records.Of[inventory.Device](inventory.Schema())
	names := map[string]bool{"location": true, "rack": true, "device_type": true}
	for _, methods := range doc.Paths {
		var op struct {
			Parameters []struct {
				Name, In string
				Ref      string `json:"$ref"`
			}
		}
		_ = json.Unmarshal(methods["get"], &op) // nothing for other methods
		filters := false
		for _, p := range op.Parameters {
			filters = filters || p.Ref == "#/components/parameters/devices.filter"
		}
		for _, p := range op.Parameters {
			name := cmp.Or(p.Name, strings.TrimPrefix(p.Ref, "#/components/parameters/devices."))
			if _, field := devices.Field(name); filters && !field && name != "filter" && p.In != "header" && p.In != "path" && !strings.Contains(name, "/") {
				names[name] = true
			}
		}
	}
	for _, want := range []string{"format", "keys", "below", "sortby", "origin", "labels"} {
		if !names[want] {
			t.Errorf("no operation with filters of devices has the parameter %s", want)
		}
	}
	for name := range names {
		c.Send("POST", "/custom-fields", object{"resource": "devices", "name": name, "type": "text"}).Want(400)
	}
}

// TestFieldFormat: a field with the name of the parameter, of a program or an earlier version, keeps its filter.
func TestFieldFormat(t *testing.T) {
	t.Parallel()
	schema, err := builtIn.With(records.Extend("devices", "format", records.Text, "max=100"))
	ok(t, err)
	g := newHarness(t, &choices{store: records.NewMemStore(schema)})
	g.create("/devices", with(device("a"), "format", "csv"))
	g.create("/devices", device("b"))
	c := g.as("viewer")
	if got := values(data(t, c.Send("GET", "/devices?format=csv", nil)), "hostname"); got != "a" {
		t.Errorf("the devices are %q", got)
	}
	if got := c.Send("GET", "/devices?format=csv&fields=hostname,format", nil, "Accept", "text/csv").Want(200).Body.String(); got != "hostname,format\r\na,csv\r\n" {
		t.Errorf("the export is %q", got)
	}
	c.Send("GET", "/vlans?format=csv", nil).Want(200).WantHeader("Content-Type", "text/csv; charset=utf-8; header=present")
	if a := g.as("").Send("GET", "/openapi.json", nil).Want(200); !strings.Contains(a.Body.String(), `"name":"format","in":"query","description":"The format`) {
		t.Error("the parameter of other resources is not described")
	}
}

// many is a store with devices, of which another page can fail.
type many struct {
	records.Store
	mu      sync.Mutex
	between func() error // called before each page after the first
	always  bool         // before the first one too
}

func manyDevices(t *testing.T, n int) *many {
	t.Helper()
	s := &many{Store: records.NewMemStore(builtIn)}
	for from := 0; from < n; from += 1000 {
		var all []records.Record
		for i := from; i < min(n, from+1000); i++ {
			all = append(all, &inventory.Device{Hostname: fmt.Sprintf("d%05d", i), Notes: strings.Repeat("x", 1000)})
		}
		ok(t, records.New(s, nil).Create(context.Background(), records.Caller{Name: "test"}, all...))
	}
	return s
}

func (s *many) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if (s.always || q.After != nil) && q.Resource.Name == "devices" {
		s.mu.Lock()
		between := s.between
		s.mu.Unlock()
		if between != nil {
			if err := between(); err != nil {
				return nil, err
			}
		}
	}
	return s.Store.List(ctx, q)
}

// TestWholeExport: an export has all records and each once, of a limited user only theirs; with a limit it
// is a page.
func TestWholeExport(t *testing.T) {
	t.Parallel()
	store := manyDevices(t, 2500)
	g := newHarness(t, &choices{store: store})
	lines := func(path string) []string {
		return strings.Split(strings.TrimSuffix(g.as("viewer").Send("GET", path, nil).Want(200).Body.String(), "\r\n"), "\r\n")[1:]
	}
	for i, hostname := range lines("/devices?format=csv&fields=hostname") {
		if hostname != fmt.Sprintf("d%05d", i) {
			t.Fatalf("row %d is %s", i, hostname)
		}
	}
	if n := len(lines("/devices?format=csv&sortby=status:desc&fields=id")); n != 2500 {
		t.Errorf("%d records in another order", n)
	}
	if n := len(lines("/devices?format=csv&limit=7")); n != 7 {
		t.Errorf("%d records with limit=7", n)
	}
	if n := len(lines("/devices?format=csv&page=2")); n != 10 {
		t.Errorf("page 2 has %d records", n)
	}
	head := g.as("viewer").Send("HEAD", "/devices?format=csv", nil).Want(200).WantHeader("Content-Type", "text/csv; charset=utf-8; header=present")
	if head.Body.Len() > 0 {
		t.Error("HEAD has a body")
	}
	s := twoSites(g)
	if got := lines("/devices?format=csv&fields=hostname"); len(got) != 1 || got[0] != "core-1" {
		t.Errorf("a limited user exports %v", got)
	}
	if got := lines("/locations/" + s.here["id"].(string) + "/devices?format=csv&fields=hostname"); len(got) != 1 || got[0] != "core-1" {
		t.Errorf("the devices of a location are %v", got)
	}
}

// TestExportPages: an export reads in pages of few large records or of many small ones, each as a heavy query.
func TestExportPages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ notes, least, most int }{"small": {1000, 3, 12}, "large": {10_000, 25, 60}} {
		store := manyDevices(t, 2500)
		g := newHarness(t, &choices{store: store})
		ok(t, records.New(store, nil).Store().Change(context.Background(), func(tx records.Tx) error {
			page, err := tx.List(context.Background(), &records.Query{Resource: records.Of[inventory.Device](store.Schema())})
			for _, rec := range page.Records {
				d := rec.(*inventory.Device)
				d.Notes = strings.Repeat("x", want.notes)
				d.Version++
				err = errors.Join(err, tx.Update(context.Background(), d, d.Version-1))
			}
			return err
		}))
		pages := 1
		store.between = func() error {
			pages++
			if running, _ := g.api.HeavyQueries(); running != 1 {
				t.Errorf("%d heavy queries run", running)
			}
			return nil
		}
		rows := bytes.Count(g.as("viewer").Send("GET", "/devices?format=jsonl", nil).Want(200).Body.Bytes(), []byte("\n"))
		if rows != 2500 || pages < want.least || pages > want.most {
			t.Errorf("%s: %d records in %d pages", name, rows, pages)
		}
	}
}

// TestBrokenExport: a failure in the middle breaks the connection, compressed or not, and is logged.
func TestBrokenExport(t *testing.T) {
	t.Parallel()
	store := manyDevices(t, 1000)
	store.between = func() error { return errors.New("the disk is gone") }
	g := newHarness(t, &choices{store: store})
	server := httptest.NewServer(g.api)
	defer server.Close()
	for _, encoding := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/devices?format=jsonl", nil)
		ok(t, err)
		r.Header.Set("Authorization", "Bearer "+g.token("viewer"))
		r.Header.Set("Accept-Encoding", encoding)
		a, err := server.Client().Do(r)
		if encoding == "gzip" && errors.Is(err, io.EOF) {
			continue // not even the header was sent
		}
		ok(t, err)
		defer a.Body.Close()
		if a.StatusCode != 200 {
			t.Fatalf("status %d", a.StatusCode)
		}
		body := io.Reader(a.Body)
		if a.Header.Get("Content-Encoding") == "gzip" {
			body, err = gzip.NewReader(a.Body)
			ok(t, err)
		}
		read, err := io.ReadAll(body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(read) == 0 {
			t.Errorf("%s: %d bytes and the error %v", encoding, len(read), err)
		}
	}
	if n := strings.Count(g.log.String(), "the disk is gone"); n != 2 {
		t.Errorf("the log has the failure %d times:\n%s", n, g.log)
	}
	store.always = true
	g.as("viewer").Send("GET", "/devices?format=csv", nil).Want(500) // before the response has begun
}

// TestRevokedExport: an export ends when its user is deactivated.
func TestRevokedExport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := manyDevices(t, 2000)
		g := newHarness(t, &choices{store: store})
		var once sync.Once
		store.between = func() error {
			once.Do(func() {
				g.as("root").Send("PATCH", "/users/"+g.users["viewer"].ID, object{"inactive_status": true}).Want(200)
				time.Sleep(3 * time.Second) // in a bubble
			})
			return nil
		}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Error("the response was not aborted")
				}
			}()
			r := httptest.NewRequest("GET", "/devices?format=jsonl", nil)
			r.Header.Set("Authorization", "Bearer "+g.token("viewer"))
			g.api.ServeHTTP(w, r)
		}()
		if n := bytes.Count(w.Body.Bytes(), []byte("\n")); n == 0 || n > 500 {
			t.Errorf("%d records were exported", n)
		}
	})
}

// slowClient is a client that does not accept a response until it is released.
type slowClient struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s *slowClient) Write(p []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(p)
}

// TestSlowExports: exports whose clients are slow take no turn of a heavy query, and one user has at most four.
func TestSlowExports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := manyDevices(t, 1000)
		g := newHarness(t, &choices{store: store, options: func(o *httpapi.Options) { o.Heavy = httpapi.HeavyOptions{Total: 1, PerCaller: 1} }})
		release := make(chan struct{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				w := &slowClient{httptest.NewRecorder(), release}
				r := httptest.NewRequest("GET", "/devices?format=csv", nil)
				r.Header.Set("Authorization", "Bearer "+g.token("viewer"))
				g.api.ServeHTTP(w, r)
				if n := bytes.Count(w.Body.Bytes(), []byte("\n")); n != 1001 {
					t.Errorf("%d rows", n)
				}
			})
		}
		synctest.Wait()
		if running, _ := g.api.HeavyQueries(); running != 0 {
			t.Errorf("%d heavy queries run", running)
		}
		send := func(user, path string) *httpxtest.Response { return g.on(t, user).Send("GET", path, nil) }
		send("viewer", "/devices?q=d00001").Want(200)
		send("viewer", "/devices?format=csv").Want(429).WantHeader("Retry-After", "5")
		send("editor", "/devices?format=csv").Want(200)
		close(release)
		all.Wait()
		send("viewer", "/devices?format=csv").Want(200)
	})
}
