package inventory

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// TerminationKind says what a termination is.
type TerminationKind string

// The kinds of terminations.
const (
	TerminationConsole TerminationKind = "console"
	TerminationPower   TerminationKind = "power-port"   // a device takes power from it
	TerminationOutlet  TerminationKind = "power-outlet" // a device gives power to it
	TerminationFeed    TerminationKind = "power-feed"   // the power of a location
	TerminationCircuit TerminationKind = "circuit"      // an end of a provider's circuit
	TerminationOther   TerminationKind = "other"
)

// Values returns all values.
func (TerminationKind) Values() []string {
	return valueStrings(TerminationConsole, TerminationPower, TerminationOutlet, TerminationFeed, TerminationCircuit, TerminationOther)
}

// Termination is an end of cables that is neither an interface nor a pass-through port: a console or power
// port of a device, or the end of a circuit at a location.
type Termination struct {
	records.Base
	DeviceID    *string         `json:"device_id" field:"ref=devices:cascade"`
	LocationID  *string         `json:"location_id" field:"ref=locations:null"` // where one without a device is
	Kind        TerminationKind `json:"kind" field:"default=other,counted"`
	Name        string          `json:"name" field:"required,max=100,search,natural,index"`
	Label       string          `json:"label" field:"max=100,search"`
	Type        string          `json:"type" field:"max=50,counted"` // of the connector, such as rj-45 or iec-60320-c14
	Description string          `json:"description" field:"max=255,search"`

	Key string `json:"-" field:"hidden,column=termination_key,unique,max=200"` // of the terminations of a device with one name, each kind has one
}

// Normalize sets the unique key.
func (t *Termination) Normalize() {
	t.Key = stringOf(t.DeviceID) + "/" + string(t.Kind) + "/" + t.Name
}

// ValidateIn refuses a location beside a device, which has its own (records.TxValidator).
func (t *Termination) ValidateIn(context.Context, records.Tx, records.Record) error {
	if t.DeviceID != nil && t.LocationID != nil {
		return refuse("termination", "location_id", records.NotAllowed("beside device_id: the termination is where the device is"))
	}
	return nil
}
