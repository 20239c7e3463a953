package plan_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// The indexes of devices, of which 100,000 exist.
var (
	byVendor = plan.Index{Name: "vendor_idx", Columns: []string{"vendor", "id", "status", "role"}}
	byStatus = plan.Index{Name: "status_idx", Columns: []string{"status", "id", "vendor", "role"}}
	byName   = plan.Index{Name: "name_idx", Columns: []string{"name", "id", "vendor", "status", "role"}}
	byRack   = plan.Index{Name: "rack_idx", Columns: []string{"rack", "id", "vendor", "status", "role", "name"}}
	bySeen   = plan.Index{Name: "seen_idx", Columns: []string{"seen", "id", "vendor", "status", "role"}}
	byIP     = plan.Index{Name: "ip_idx", Columns: []string{"ip", "id", "vendor", "status", "role"}}
)

func ExampleChoose() {
	q := &plan.Query{
		Records: 100_000, Matches: 100_000, Wanted: 21,
		Filters: []plan.Filter{{Column: "vendor", Index: byVendor, Records: 40_000}},
		Order:   plan.Order{Column: "name", Index: byName},
	}
	for _, matches := range []int64{40_000, 4} {
		q.Filters[0].Records = matches
		p, _ := plan.Choose(q, nil)
		fmt.Println(matches, "match:", p)
	}
	// Output:
	// 40000 match: in order: name_idx, count: vendor_idx
	// 4 match: find first: vendor_idx
}

func TestChoose(t *testing.T) {
	t.Parallel()
	vendor := func(n int64) plan.Filter { return plan.Filter{Column: "vendor", Index: byVendor, Records: n} }
	status := func(n int64) plan.Filter { return plan.Filter{Column: "status", Index: byStatus, Records: n} }
	rack := plan.Filter{Column: "rack", Index: byRack, Records: 12_500, Guess: true}
	network := func(n int64) plan.Filter { return plan.Filter{Column: "ip", Index: byIP, Records: n, Range: true} }
	text := plan.Filter{Records: 100_000, Guess: true}
	name := plan.Order{Column: "name", Index: byName, Probe: true}
	id := plan.Order{Column: "id", ByID: true}
	for _, c := range []struct {
		filters []plan.Filter
		order   plan.Order
		enough  bool // what probe returns
		want    string
	}{
		{[]plan.Filter{vendor(40_000)}, id, false, "in order: vendor_idx"},
		{[]plan.Filter{vendor(40_000), status(10)}, id, false, "in order: status_idx"},
		{[]plan.Filter{vendor(40_000), status(10)}, name, false, "find first: status_idx"},
		{[]plan.Filter{vendor(40_000), status(60_000)}, name, false, "in order: name_idx, count: vendor_idx"},
		{[]plan.Filter{vendor(40_000)}, plan.Order{Column: "notes"}, false, "find first: vendor_idx"},
		{[]plan.Filter{vendor(40_000), rack}, name, true, "in order: name_idx, count: rack_idx"},
		{[]plan.Filter{vendor(40_000), rack}, name, false, "sort entries: rack_idx"},
		{[]plan.Filter{vendor(40_000), text}, name, true, "in order: name_idx, count: vendor_idx"},
		{[]plan.Filter{vendor(400), text}, name, false, "find first: vendor_idx"},
		{[]plan.Filter{network(10)}, id, false, "sort entries: ip_idx"},
		{[]plan.Filter{network(9000)}, id, false, "in order, not by the index of filter 1"},
		{[]plan.Filter{network(9000)}, plan.Order{Column: "ip", Index: byIP}, false, "in order: ip_idx"},
		{[]plan.Filter{network(9000)}, plan.Order{Column: "seen", Index: bySeen}, false, "in order: seen_idx, count: ip_idx"},
		{[]plan.Filter{network(100)}, plan.Order{Column: "seen", Index: bySeen}, false, "find first: ip_idx"},
	} {
		q := &plan.Query{Records: 100_000, Matches: 100_000, Wanted: 21, Filters: c.filters, Order: c.order}
		p, err := plan.Choose(q, func() (bool, error) { return c.enough, nil })
		require.NoError(t, err)
		require.Equal(t, c.want, p.String(), "%+v", q)
	}
}

// TestProbeFails checks that the error of a probe is returned.
func TestProbeFails(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	q := &plan.Query{
		Records: 100, Matches: 100, Wanted: 21, Filters: []plan.Filter{{Column: "rack", Index: byRack, Records: 100, Guess: true}},
		Order: plan.Order{Column: "name", Index: byName, Probe: true},
	}
	_, err := plan.Choose(q, func() (bool, error) { return false, lost })
	require.ErrorIs(t, err, lost)
}

func TestString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]plan.Plan{
		"as the database chooses": {}, "no record matches": {None: true}, `index for searches: "core"`: {Search: "core"}, "find first": {Shape: plan.FindFirst},
	} {
		require.Equal(t, want, p.String())
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	small := &plan.Places{Records: 200_000, Roots: 100_000, Near: 100, Share: 0.001, References: 1}
	big := &plan.Places{Records: 200_000, Roots: 100_000, Near: 50_000, Share: 0.5, References: 1}
	require.Equal(t, plan.FromPlaces, small.Choose(21, true))
	require.Equal(t, plan.FromRecords, big.Choose(21, true))
	require.Equal(t, plan.FromPlaces, big.Choose(1001, false))
}
