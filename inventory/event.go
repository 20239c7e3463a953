package inventory

import "time"

// Event is something that has happened. Message is shown to people.
type Event struct {
	Base
	Severity       Severity   `json:"severity" field:"required,index,counted"`
	Type           string     `json:"type" field:"required,max=50,index,counted"` // such as security, system or interface
	Message        string     `json:"message" field:"required,format=text,max=4000,search"`
	DeviceID       *string    `json:"device_id" field:"ref=devices:null"`
	InterfaceID    *string    `json:"interface_id" field:"ref=interfaces:null"`
	LocationID     *string    `json:"location_id" field:"ref=locations:null,counted"`
	AcknowledgedAt *time.Time `json:"acknowledged_at" field:"readonly"`
	AcknowledgedBy *string    `json:"acknowledged_by" field:"readonly,ref=users:null"`
}

func events() *Resource {
	return describe[Event](definition{name: "events", label: "Event", write: roles(Admin)})
}

// Metric is what was measured of a device at one time.
type Metric struct {
	Base
	DeviceID      string     `json:"device_id" field:"required,ref=devices:cascade"`
	CPU           *float64   `json:"cpu" field:"min=0,max=100"`     // percent
	Memory        *float64   `json:"memory" field:"min=0,max=100"`  // percent
	Temp          *float64   `json:"temp" field:"min=-100,max=300"` // degrees Celsius
	UptimeSeconds *int64     `json:"uptime_seconds" field:"min=0"`
	TS            *time.Time `json:"ts" field:"index"` // of the measurement; the time of creation if it is left out
}

func metrics() *Resource {
	return describe[Metric](definition{name: "metrics", label: "Metric", write: roles(Admin)})
}

// made is when a metric that does not say so was measured.
func (m *Metric) made() {
	if m.TS == nil {
		at := m.CreatedAt
		m.TS = &at
	}
}
