package standard_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

var (
	faults  = regexp.MustCompile(`(?s)<[a-z]+ class="(?:fault|problems|warning|lists-problem|change-problem|empty)[^"]*".*?</(?:p|div|section|ul)>|<td data-label="What is wrong">.*?</td>`)
	tags    = regexp.MustCompile(`(?s)<svg.*?</svg>|<[^>]*>`)
	private = regexp.MustCompile(`(?i)\bJSON\b|\bobject\b|\bUUID\b|[0-9a-f]{8}-[0-9a-f]{4}-|\b[a-z]+_[a-z_]+\b|\barray\b`)
	quoted  = regexp.MustCompile(`"[^"]*"|“[^”]*”`)
)

// TestErrorsInWords: what forms, lists and imports refuse is said with the labels of fields: no JSON, no ids, no names of members.
func TestErrorsInWords(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	require.NoError(t, err)
	store := records.NewMemStore(schema)
	_, err = demo.Fill(t.Context(), store, &demo.Options{Devices: 20})
	require.NoError(t, err)
	api := featuretest.New(t, store, standard.Features()...)
	seen := 0
	check := func(what string, status int, text string) {
		if status < 400 && !strings.HasPrefix(what, "import") {
			return
		}
		for _, fault := range faults.FindAllString(text, -1) {
			said := html.UnescapeString(tags.ReplaceAllString(fault, " "))
			assert.NotRegexp(t, private, quoted.ReplaceAllString(said, ""), what)
			seen++
		}
	}
	const id = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	for _, r := range schema.Resources() {
		if r.Internal || !r.Routes.Has(records.RouteCreate) {
			continue
		}
		values := []string{"", "x", id, "{}", "<b>", "-1", "[1]", "a\x00b", "\n", "99999999999999999999"}
		if testing.Short() {
			values = values[:5]
		}
		for _, value := range values {
			var fields []string
			for _, f := range r.Fields() {
				if !f.ReadOnly && !f.Hidden {
					fields = append(fields, f.Name, value)
				}
			}
			status, text := api.Form("root", "/r/"+r.Name, fields...)
			check(fmt.Sprintf("new %s %q", r.Name, value), status, text)
			var header, cells []string
			for i := 0; i < len(fields); i += 2 {
				header, cells = append(header, fields[i]), append(cells, strings.Trim(value, "\n\x00"))
			}
			rows := strings.Join(header, "\t") + "\n" + strings.Join(cells, "\t") + "\n"
			status, text = api.Form("root", "/import", "resource", r.Name, "step", "preview", "text", rows)
			check(fmt.Sprintf("import %s %q", r.Name, value), status, text)
		}
		page, err := store.List(t.Context(), &records.Query{Resource: r, Limit: 1})
		require.NoError(t, err)
		for _, rec := range page.Records {
			at := "/r/" + r.Name + "/" + rec.Meta().ID
			for _, f := range r.Fields() {
				for _, value := range []string{"", "x", id} {
					status, text := api.Form("root", at, f.Name, value)
					check(fmt.Sprintf("%s.%s %q", r.Name, f.Name, value), status, text)
				}
			}
		}
	}
	t.Logf("%d errors", seen)
	require.Greater(t, seen, 100)
}
