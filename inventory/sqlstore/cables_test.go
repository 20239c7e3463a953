package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// cabling is a device of which two processes change ports, cables and links at the same time.
type cabling struct {
	*testing.T
	by      records.Caller
	engines [2]*records.Engine
	device  string
	names   int
}

// checkCables has two stores with one database change ports, cables and links at the same time:
// none has two cables, parents have no cycles, front ports fit their rear ports, and cables have
// links.
func checkCables(t *testing.T, stores [2]records.Store) {
	t.Helper()
	c := &cabling{T: t, by: records.Caller{Name: "test"}, engines: [2]*records.Engine{records.New(stores[0], nil), records.New(stores[1], nil)}}
	c.device = c.add(newDevice("cabled"))
	for range scaled(5) {
		c.checkOccupied()
		c.checkParents()
		c.checkPositions()
		c.checkLinks()
	}
	ends := c.list(0, &records.Query{Resource: records.Of[inventory.CableEnd](stores[0].Schema())})
	cables := c.list(0, &records.Query{Resource: records.Of[inventory.Cable](stores[0].Schema())})
	require.Len(t, ends, 2*len(cables))
}

func (c *cabling) add(rec records.Record) string {
	c.Helper()
	require.NoError(c, c.engines[0].Create(c.Context(), c.by, rec))
	return rec.Meta().ID
}

func (c *cabling) port() string {
	c.Helper()
	c.names++
	return c.add(&inventory.Interface{DeviceID: c.device, Name: fmt.Sprint("eth", c.names)})
}

func (c *cabling) list(n int, q *records.Query) []records.Record {
	c.Helper()
	page, err := c.engines[n].Store().List(c.Context(), q)
	require.NoError(c, err)
	return page.Records
}

// both makes changes at the same time, every other one by the other process, and returns their errors.
func (c *cabling) both(changes ...func(ctx context.Context, v *records.Engine) error) []error {
	errs := make([]error, len(changes))
	var group sync.WaitGroup
	start := make(chan struct{})
	for i, change := range changes {
		group.Go(func() {
			<-start
			errs[i] = change(c.Context(), c.engines[i%2])
		})
	}
	close(start)
	group.Wait()
	return errs
}

// set changes a record of a type.
func set[T any, P interface {
	*T
	records.Record
}](c *cabling, id string, change func(rec P),
) func(ctx context.Context, v *records.Engine) error {
	return func(ctx context.Context, v *records.Engine) error {
		_, err := v.Update(ctx, c.by, records.Of[T](v.Store().Schema()), records.Edit{ID: id, Apply: func(rec records.Record) error {
			change(rec.(P))
			return nil
		}})
		return err
	}
}

// checkOccupied connects one port several times.
func (c *cabling) checkOccupied() {
	c.Helper()
	port := c.port()
	var cables []*inventory.Cable
	var changes []func(ctx context.Context, v *records.Engine) error
	for i := range 4 {
		other := c.port()
		cable := &inventory.Cable{AInterfaceID: &other, BInterfaceID: new(port), Label: fmt.Sprint(i)}
		cables = append(cables, cable)
		changes = append(changes, func(ctx context.Context, v *records.Engine) error { return v.Create(ctx, c.by, cable) })
	}
	first := -1
	errs := c.both(changes...)
	for i, err := range errs {
		if err == nil {
			require.Negative(c, first, "two cables have one port")
			first = i
		}
	}
	require.GreaterOrEqual(c, first, 0, "no cable has the port: %v", errs)
	for i, err := range errs {
		if i != first {
			require.Equal(c, records.Conflict, records.KindOf(err), "%v", err)
			require.ErrorContains(c, err, " already has a cable: ")
			require.ErrorContains(c, err, cables[first].ID)
		}
	}
}

// checkParents makes each of two interfaces the parent of the other.
func (c *cabling) checkParents() {
	c.Helper()
	a, b := c.port(), c.port()
	errs := c.both(
		set(c, a, func(i *inventory.Interface) { i.ParentID = &b }), set(c, b, func(i *inventory.Interface) { i.ParentID = &a }))
	require.NotEqual(c, errs[0] == nil, errs[1] == nil, "one of the two interfaces is below the other: %v", errs)
}

// checkPositions takes a position from a rear port that a new front port has.
func (c *cabling) checkPositions() {
	c.Helper()
	c.names++
	rear := c.add(&inventory.RearPort{DeviceID: c.device, Name: fmt.Sprint("rear", c.names), Positions: new(int64(4))})
	front := &inventory.FrontPort{DeviceID: c.device, Name: fmt.Sprint("front", c.names), RearPortID: rear, RearPortPosition: new(int64(3))}
	errs := c.both(
		func(ctx context.Context, v *records.Engine) error { return v.Create(ctx, c.by, front) },
		set(c, rear, func(r *inventory.RearPort) { r.Positions = new(int64(2)) }))
	require.NotEqual(c, errs[0] == nil, errs[1] == nil, "the rear port has the position of its front port: %v", errs)
}

// checkLinks deletes the link that a new cable adopts.
func (c *cabling) checkLinks() {
	c.Helper()
	a, b := c.port(), c.port()
	link := c.add(&inventory.Link{AInterfaceID: a, BInterfaceID: b})
	errs := c.both(
		func(ctx context.Context, v *records.Engine) error {
			return v.Create(ctx, c.by, &inventory.Cable{AInterfaceID: &a, BInterfaceID: &b})
		},
		func(ctx context.Context, v *records.Engine) error {
			return v.Delete(ctx, c.by, records.Of[inventory.Link](v.Store().Schema()), records.Edit{ID: link})
		})
	require.NoError(c, errs[0])
	require.NoError(c, errs[1])
	schema := c.engines[0].Store().Schema()
	links := c.list(0, (&records.Query{Resource: records.Of[inventory.Link](schema)}).Where("a_interface_id", a))
	cables := c.list(0, (&records.Query{Resource: records.Of[inventory.Cable](schema)}).Where("a_interface_id", a))
	require.Len(c, links, len(cables), "a cable between two interfaces has a link")
}
