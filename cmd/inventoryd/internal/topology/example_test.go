package topology_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/topology"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func ExampleReadLab() {
	file := strings.NewReader("name: lab\ntopology:\n  nodes: {srl1: {kind: nokia_srlinux}, srl2: {kind: nokia_srlinux}}\n" +
		"  links: [{endpoints: ['srl1:e1-1', 'srl2:e1-1']}, {endpoints: ['srl1:e1-2', 'host:eth7']}]\n")
	lab, err := topology.ReadLab("lab.clab.yml", file)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	report, err := importer.Run(context.Background(), engine, []importer.Source{lab.Source(engine.Store().Schema())}, nil)
	fmt.Println(report.Created, lab.Unplaced(), err)
	// Output: 7 [{links to host 1}] <nil>
}
