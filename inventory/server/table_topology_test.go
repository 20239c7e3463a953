//go:build unix

package server_test

import (
	"encoding/json"
	"fmt"

	"github.com/stretchr/testify/require"
)

// topology measures questions about the network of all links, beside the baseline of reading the links.
func (x *measured) topology() {
	x.t.Helper()
	baseline := repeat(func() { x.query("SELECT id, a_interface_id, b_interface_id, status FROM links") }).ms(50)
	ends := x.query("SELECT a.device_id, b.device_id FROM links JOIN interfaces a ON a.id = a_interface_id JOIN interfaces b ON b.id = b_interface_id ORDER BY links.id LIMIT 1")
	from, to := ends[0][0], ends[0][1]
	for _, path := range []string{
		fmt.Sprintf("/devices/%s/neighbors?depth=3", from),
		fmt.Sprintf("/topology/path?state=any&from=%s&to=%s", from, to),
		fmt.Sprintf("/topology/path?state=any&disjoint=node&from=%s&to=%s", from, to),
		"/topology/failures?state=any&limit=100",
		"/topology?limit=1000",
	} {
		var answer struct {
			Nodes, Paths, Failures []any
			Total                  int64
			TotalNodes             int64 `json:"total_nodes"`
		}
		require.NoError(x.t, json.Unmarshal(x.get(path).Body.Bytes(), &answer))
		rows := len(answer.Nodes) + len(answer.Paths) + len(answer.Failures)
		require.Positive(x.t, rows, path)
		bar := 50.0
		if path == "/topology?limit=1000" { // its records are read, and a large response is encoded
			bar = 0
		}
		x.row(path[1:], bar, repeat(func() { x.get(path) }), baseline, rows, answer.Total+answer.TotalNodes)
	}
}
