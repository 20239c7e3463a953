package server_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

func TestZZ(t *testing.T) {
	s := settings(t, map[string]string{"DATABASE_URL": postgrestest.Start(t).Database(t)})
	srv, err := server.New(t.Context(), s, &server.Options{Log: server.NewLog(io.Discard, s), Output: io.Discard})
	require.NoError(t, err)
	defer srv.Close()
	_, err = demo.Fill(t.Context(), srv.Store(), &demo.Options{Devices: 10000})
	require.NoError(t, err)
	st := srv.Store()
	loc := records.Of[inventory.Location](st.Schema())
	dev := records.Of[inventory.Device](st.Schema())
	all, err := st.List(context.Background(), &records.Query{Resource: loc})
	require.NoError(t, err)
	id, _ := loc.Field("id")
	for round := range 4 {
		for _, n := range []int{len(all.Records), 20} {
			var ids []any
			for _, r := range all.Records[:n] {
				ids = append(ids, r.Meta().ID)
			}
			b := time.Now()
			_, err = st.List(context.Background(), &records.Query{Resource: loc, Filters: []records.Filter{{Field: id, Op: records.In, Value: ids}}})
			fmt.Println(round, n, "locations", time.Since(b), err)
		}
		for _, n := range []int64{128, 512, 2048} {
			q := &records.Query{Resource: dev, Limit: n}
			b := time.Now()
			p, err := st.List(context.Background(), q)
			fmt.Println(round, n, "first", time.Since(b), err)
			q.After = q.PlaceOf(p.Records[len(p.Records)-1])
			b = time.Now()
			_, err = st.List(context.Background(), q)
			fmt.Println(round, n, "after", time.Since(b), err)
		}
	}
}
