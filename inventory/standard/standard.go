// Package standard lists the features of this module. A program passes them, some of them or its own to
// httpapi.Options.
package standard

import (
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/cabling"
	"github.com/ashlar-go/ashlar/inventory/feature/customfields"
	"github.com/ashlar-go/ashlar/inventory/feature/drift"
	"github.com/ashlar-go/ashlar/inventory/feature/events"
	"github.com/ashlar-go/ashlar/inventory/feature/hosts"
	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/feature/ipam"
	"github.com/ashlar-go/ashlar/inventory/feature/metrics"
	"github.com/ashlar-go/ashlar/inventory/feature/netboxapi"
	"github.com/ashlar-go/ashlar/inventory/feature/overview"
	"github.com/ashlar-go/ashlar/inventory/feature/proposals"
	"github.com/ashlar-go/ashlar/inventory/feature/racks"
	"github.com/ashlar-go/ashlar/inventory/feature/retention"
	"github.com/ashlar-go/ashlar/inventory/feature/topology"
	"github.com/ashlar-go/ashlar/inventory/feature/views"
	"github.com/ashlar-go/ashlar/inventory/feature/vlans"
	"github.com/ashlar-go/ashlar/inventory/feature/webhooks"
)

// Features returns new values of all features. Nothing else names them.
func Features() []*feature.Feature {
	return []*feature.Feature{
		cabling.New(),
		customfields.New(),
		drift.New(),
		events.New(),
		hosts.New(),
		imports.New(),
		ipam.New(),
		metrics.New(),
		netboxapi.New(),
		overview.New(),
		proposals.New(),
		racks.New(),
		retention.New(),
		topology.New(),
		views.New(),
		vlans.New(),
		webhooks.New(),
	}
}
