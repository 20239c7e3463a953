package imports_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// importer sends forms of imports, as an admin of a program with accounts of its own.
type importer struct {
	t      *testing.T
	store  records.Store
	pages  http.Handler
	cookie *http.Cookie
	token  string
}

func (importer) Authenticate(*http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "1", Username: "somebody", Role: "admin"}, nil
}

// newImporter returns the pages of an empty inventory with a budget of so many bytes.
func newImporter(t *testing.T, budget int64) *importer {
	t.Helper()
	return newImporterOf(t, &httpapi.Options{}, budget)
}

func newImporterOf(t *testing.T, opts *httpapi.Options, budget int64) *importer {
	t.Helper()
	opts.Features = []*feature.Feature{imports.New()}
	schema, err := inventory.NewSchema(records.Extend("devices", "owner", records.Text, "max=50", func(f *records.Field) { f.Label = "Cost centre" }))
	require.NoError(t, err)
	i := &importer{t: t, store: records.NewMemStore(schema)}
	api, err := httpapi.New(records.New(i.store, nil), i, opts)
	require.NoError(t, err)
	chain := &httpx.StandardOptions{Budget: httpx.NewBudget(&httpx.BudgetOptions{Bytes: budget, BytesPerClient: budget})}
	i.pages, err = console.New(api, &console.Options{Chain: chain})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	i.pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/import", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	i.cookie, i.token = w.Result().Cookies()[0], field(w.Body.String(), "_token")
	require.NotEmpty(t, i.token)
	return i
}

// field returns the value of a hidden field of a page.
func field(page, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// send sends a form: pairs of a name and a value. A name that begins with @ is that of a file.
func (i *importer) send(path string, fields ...string) (status int, text string) {
	i.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(i.t, form.WriteField("_token", i.token))
	for n := 0; n < len(fields); n += 2 {
		if name, ok := strings.CutPrefix(fields[n], "@"); ok {
			w, err := form.CreateFormFile("file", name)
			require.NoError(i.t, err)
			_, err = w.Write([]byte(fields[n+1]))
			require.NoError(i.t, err)
			continue
		}
		require.NoError(i.t, form.WriteField(fields[n], fields[n+1]))
	}
	require.NoError(i.t, form.Close())
	r := httptest.NewRequestWithContext(i.t.Context(), "POST", path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.AddCookie(i.cookie)
	w := httptest.NewRecorder()
	i.pages.ServeHTTP(w, r)
	return w.Code, html.UnescapeString(w.Body.String())
}

// packed returns a file as a page keeps it.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// TestImportFiles: each file leads to its columns, its preview, or a message that says what is wrong.
func TestImportFiles(t *testing.T) {
	t.Parallel()
	i := newImporter(t, 256<<20)
	for _, row := range []struct {
		why, name, text string
		status          int
		want            []string
	}{
		{"a byte order mark", "a.csv", "\ufeffhostname,Cost centre\na,7\n", 200, []string{"<code>hostname</code>", `<option value="owner" selected>Cost centre</option>`}},
		{"parts of natural keys", "a.csv", "hostname,location.name,device_type\na,b,c\n", 200, []string{`<option value="location.name" selected>`}},
		{"no hostname", "a.csv", "status\nactive\n", 200, []string{"New records also need Hostname"}},
		{"JSON lines", "a.jsonl", `{"hostname":"a","staus":"active"}`, 200, []string{"did you mean status?", "1 column is"}},
		{"YAML", "a.yaml", "- hostname: a\n  status: active\n", 200, []string{"<code>status</code>"}},
		{"the format by its content", "", `{"hostname":"a"}`, 200, []string{`name="format" value="jsonl"`}},
		{"an empty file", "a.csv", "", 400, []string{"line 1: is empty"}},
		{"an archive", "a.csv", "PK\x03\x04\x00\x00", 400, []string{"ZIP archive"}},
		{"UTF-16", "a.csv", "\xff\xfeh\x00", 400, []string{"UTF-16"}},
		{"a spreadsheet", "a.csv", "Name;IP address;Site;U;Device type;Bezel\na;192.0.2.1;b;7;c;d\n", 200, []string{
			`<option value="hostname" selected>`, `<option value="ip" selected>`, `<option value="location" selected>`,
			`<option value="rack_unit" selected>`, `<option value="device_type" selected>`, "1 column is",
		}},
		{"a name twice", "a.csv", "hostname,hostname\na,b\n", 200, []string{"is the name of two columns", "Ignore this column"}},
	} {
		fields := []string{"resource", "devices", "step", "columns", "@" + row.name, row.text}
		if row.name == "" {
			fields[4] = "text"
		}
		status, text := i.send("/import", fields...)
		require.Equal(t, row.status, status, "%s: %s", row.why, text)
		for _, want := range row.want {
			require.Contains(t, text, want, row.why)
		}
	}
	for _, row := range []struct {
		why    string
		status int
		fields []string
		want   string
	}{
		{"nothing", 400, []string{"resource", "devices"}, "Choose a file, or paste rows"},
		{"a resource without imports", 403, []string{"resource", "audit-logs", "text", "x"}, "may not import"},
		{"two columns for one field", 400, []string{"resource", "devices", "text", "a,b\n1,2\n", "to.0", "hostname", "to.1", "hostname", "step", "preview"}, "both go to Hostname"},
		{"a target that does not exist", 400, []string{"resource", "devices", "text", "a,b\n1,2\n", "to.0", "frob", "step", "preview"}, "no field of devices"},
		{"a broken file of the page before", 400, []string{"resource", "devices", "kept", "!", "step", "preview"}, "choose the file again"},
		{"a file that is small only when it is packed", 413, []string{"resource", "devices", "kept", packed(t, strings.Repeat("a", 33<<20)), "step", "preview"}, "33554432 bytes"},
		{"a file that is too large", 413, []string{"resource", "devices", "@a.csv", strings.Repeat("a", 33<<20)}, "33554432 bytes"},
		{"a field that is too long", 413, []string{"resource", strings.Repeat("a", 5000)}, "4096 bytes"},
	} {
		status, text := i.send("/import", row.fields...)
		require.Equal(t, row.status, status, "%s: %s", row.why, text)
		require.Contains(t, text, row.want, row.why)
	}
}

// TestImportLines: lines are those of the file, whatever its header, and the file travels unchanged: line breaks
// in cells, and bytes that are not UTF-8.
func TestImportLines(t *testing.T) {
	t.Parallel()
	i := newImporter(t, 256<<20)
	file := "Host name,\"a\ncomment\",notes\na,1,\"first\r\nsecond\"\nb,2,caf\xe9\nc,3,x,y\n"
	_, text := i.send("/import", "resource", "devices", "step", "columns", "@a.csv", file)
	fields := []string{"resource", "devices", "format", "csv", "name", "a.csv", "kept", field(text, "kept"), "to.0", "hostname", "to.1", "", "to.2", "notes"}
	status, text := i.send("/import", append(fields, "step", "preview")...)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `class="number">5</td>`)
	require.Contains(t, text, "not UTF-8, perhaps Latin-1")
	require.Contains(t, text, `class="number">6</td>`)
	require.Contains(t, text, "has 4 cells")

	status, text = i.send("/import", append(fields, "step", "apply")...)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "2 of 3 rows")
	_, text = i.send("/import", append(fields, "step", "apply-good")...)
	require.Contains(t, text, "Imported: 1 created, 0 changed.")
	page, err := i.store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](i.store.Schema()), Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Records, 1)
	require.Equal(t, "first\r\nsecond", page.Records[0].(*inventory.Device).Notes)
}

// TestImportMany: a file with more rows than a preview has is applied without one, and one that needs too much
// memory is refused with its size.
func TestImportMany(t *testing.T) {
	t.Parallel()
	places := func(n int) string {
		var rows strings.Builder
		rows.WriteString("name,site_code\n")
		for n := range n {
			fmt.Fprintf(&rows, "place %d,S-%d\n", n, n)
		}
		return rows.String() + "bad,S-1\n"
	}
	i := newImporter(t, 256<<20)
	fields := func(n int) []string { return []string{"resource", "locations", "format", "csv", "@a.csv", places(n)} }
	status, text := i.send("/import", append(fields(100_000), "step", "preview")...)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "Apply without a preview")
	_, text = i.send("/import", append(fields(10_500), "step", "apply-good")...)
	require.Contains(t, text, "Imported: 10\u202f500 created, 0 changed.")
	require.Contains(t, text, "10502")

	status, text = newImporter(t, 5<<20).send("/import", append(fields(10_500), "step", "preview")...)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, text, "5 MiB of one client")
}

// TestRejectedRows: rejected rows are sent as a file, of a known format only.
func TestRejectedRows(t *testing.T) {
	t.Parallel()
	i := newImporter(t, 64<<20)
	status, text := i.send("/import/rejected", "resource", "devices", "format", "csv", "kept", packed(t, "hostname\n<b>\n"))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "hostname\n<b>\n", text)
	status, _ = i.send("/import/rejected", "resource", "devices", "format", "html", "kept", packed(t, "<b>"))
	require.Equal(t, http.StatusBadRequest, status)
}
