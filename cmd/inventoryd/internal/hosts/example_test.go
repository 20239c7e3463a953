package hosts_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/hosts"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func ExampleRead() {
	file := strings.NewReader("[web]\nweb[01:20].example.org site=Vienna ntp_server=192.0.2.1\n")
	found, err := hosts.Read(hosts.File{Name: "inventory.ini", Reader: file})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	source, err := found.Source(context.Background(), engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := importer.Run(context.Background(), engine, []importer.Source{source}, nil)
	fmt.Println(report.Created, found.Unplaced(), err)
	// Output: 21 [{variable ntp_server 1}] <nil>
}
