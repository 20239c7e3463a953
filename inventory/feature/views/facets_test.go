package views_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature/views"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

// TestFacets: a summary counts the records that match, each field without its own filters, and says where there are more.
func TestFacets(t *testing.T) { featuretest.OnStores(t, testFacets, views.New) }

func testFacets(t *testing.T, g *featuretest.API) {
	for n := range 12 {
		var rows []string
		for i := range 100 {
			rows = append(rows, fmt.Sprintf(`{"hostname":"d%d-%d","status":%q,"role":"r%d","tags":["all","t%d"]}`, n, i, []string{"active", "offline"}[min(n/2, 1)], i%2, i%3))
		}
		g.Create("/devices", "["+strings.Join(rows, ",")+"]")
	}
	summary := func(where string) (s struct {
		Status, Resource string
		Total            int64
		By, Other        map[string]map[string]int64
		AtLeast          []string `json:"at_least"`
	},
	) {
		g.As("viewer").Send("GET", "/summary?resource=devices&by=status,role,tags&where="+url.QueryEscape(where), nil).Want(200).JSON(&s)
		return s
	}
	s := summary("status=active&role=r1")
	require.EqualValues(t, 100, s.Total)
	require.Equal(t, map[string]int64{"active": 100, "offline": 400}, s.By["status"], "of 600 records the first 500 are counted")
	require.Equal(t, map[string]int64{"r0": 100, "r1": 100}, s.By["role"])
	require.EqualValues(t, 100, s.By["tags"]["all"])
	require.Equal(t, []string{"status"}, s.AtLeast)
	s = summary("")
	require.EqualValues(t, 1200, s.Total)
	require.Equal(t, map[string]int64{"active": 200, "offline": 1000}, s.By["status"])
	require.EqualValues(t, 500, s.By["tags"]["all"])
	require.Equal(t, []string{"tags"}, s.AtLeast)
	g.As("viewer").Send("GET", "/summary?resource=devices&by=status&where=frob%3D1", nil).WantError(400, "frob")

	text := g.Page("viewer", "/r/devices?add-panel=open&status=active")
	s = summary("status=active")
	require.Equal(t, map[string]int64{"active": 200, "offline": 1000}, s.By["status"])
	require.Empty(t, s.AtLeast)
	_, aside, _ := strings.Cut(text, "<aside")
	require.Contains(t, aside, `value="status=offline"`)
	require.Contains(t, aside, ">1\u202f000<")
	require.NotContains(t, g.Page("viewer", "/r/devices?status=active"), "<aside class=\"lists-panel")
}
