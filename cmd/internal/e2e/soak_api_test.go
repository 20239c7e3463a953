//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestSoakAPI sends random requests to every operation of inventoryd. Responses must be those of a
// server that has rejected or done what it was asked: no 500, and an error has a message.
func TestSoakAPI(t *testing.T) {
	t.Parallel()
	c := newConformant(t, startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), nil, "-demo", "-devices", "20"))
	f := &apiFuzzer{conformant: c, statuses: map[int]int{}}
	code, text := c.send("GET", "/openapi.json", "")
	require.Equal(t, http.StatusOK, code)
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	require.NoError(t, err)
	until := time.Now().Add(scaletest.Soak(t) / 10)
	// A round seldom creates a record: the parent that the request names must exist.
	enough := func() bool { return f.statuses[http.StatusOK] > 0 && f.statuses[http.StatusCreated] > 0 }
	for rounds := 0; rounds < 3 || time.Now().Before(until) || !enough() && rounds < 300; rounds++ {
		for path, item := range document.Paths.Map() {
			for method, operation := range item.Operations() {
				f.call(method, path, operation)
			}
		}
	}
	t.Logf("responses: %v", f.statuses)
	require.Positive(t, f.statuses[http.StatusOK])
	require.Positive(t, f.statuses[http.StatusCreated])
	require.Positive(t, f.statuses[http.StatusBadRequest])
}

// apiFuzzer sends random requests.
type apiFuzzer struct {
	*conformant
	ids      []string // of earlier responses
	statuses map[int]int
}

// call sends one request of an operation, and checks the response.
func (f *apiFuzzer) call(method, path string, operation *openapi3.Operation) {
	f.t.Helper()
	if strings.HasPrefix(path, "/users") || strings.HasSuffix(path, "/stream") {
		return // it would end its own session, or wait for events
	}
	query := url.Values{}
	for _, p := range operation.Parameters {
		switch {
		case p.Value.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(oneOf(append(f.ids, "7", "é %2F")...)))
		case p.Value.In == "query" && rand.IntN(6) == 0:
			query.Set(p.Value.Name, fmt.Sprint(f.value(p.Value.Schema, 1)))
		}
	}
	body := ""
	if operation.RequestBody != nil {
		for _, media := range operation.RequestBody.Value.Content {
			text, err := json.Marshal(f.value(media.Schema, 6))
			require.NoError(f.t, err)
			body = string(text)
		}
	}
	path += "?" + query.Encode()
	status, text := f.send(method, path, body)
	f.statuses[status]++
	require.NotZero(f.t, status, "%s %s %s: %s", method, path, body, text)
	require.Less(f.t, status, 500, "%s %s %s: %s", method, path, body, text)
	if status >= 400 {
		require.NotEmpty(f.t, message(f.t, text), "%s %s", method, path)
	}
	f.ids = append(f.ids, regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).FindAllString(text, 3)...)
	f.ids = f.ids[max(0, len(f.ids)-50):]
}

func oneOf[T any](values ...T) T { return values[rand.IntN(len(values))] }

// value returns a value for a schema, which is often valid.
func (f *apiFuzzer) value(ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil || depth == 0 || rand.IntN(40) == 0 {
		return oneOf[any](nil, "", "x", "é\x00\u202e", strings.Repeat("long ", 100), -1, 1e300, true, []any{1}, map[string]any{"x": nil})
	}
	s := ref.Value
	if all := append(s.OneOf, s.AnyOf...); len(all) > 0 {
		return f.value(oneOf(all...), depth)
	}
	switch {
	case len(s.Enum) > 0:
		return oneOf(s.Enum...)
	case s.Type.Includes("object"):
		object := map[string]any{}
		for name, property := range s.Properties {
			if rand.IntN(3) > 0 && !property.Value.ReadOnly {
				object[name] = f.value(property, depth-1)
			}
		}
		for _, name := range s.Required {
			object[name] = f.value(s.Properties[name], depth-1)
		}
		return object
	case s.Type.Includes("array"):
		items := []any{}
		for range rand.IntN(3) {
			items = append(items, f.value(s.Items, depth-1))
		}
		return items
	case s.Type.Includes("boolean"):
		return oneOf(true, false)
	case s.Type.Includes("integer"), s.Type.Includes("number"):
		return oneOf(0, 1, 7, 100, 4096)
	case s.Format == "uuid":
		return oneOf(append(f.ids, "7")...)
	}
	return oneOf("a", "name "+fmt.Sprint(rand.IntN(1000)), "192.0.2.7", "10.0.0.0/8", "2026-11-27T00:00:00Z", "00:00:5e:00:53:01", "x@example.com", "https://example.com")
}
