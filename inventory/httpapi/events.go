package httpapi

import (
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// An event can be acknowledged and is immutable otherwise. The inventory records who
// acknowledged it and when (REFERENCE.md, 2.7):
//
//	PATCH /events/{id}  {"acknowledged": true}
//	PATCH /events       [{"id": "018f…", "acknowledged": true}]

func acknowledgement() openapi.Property {
	return openapi.Required("acknowledged", openapi.Boolean("true: acknowledge the event, if it is not yet. false: withdraw the acknowledgement."))
}

// acknowledging makes the changes of events acknowledgements.
func (rt *route) acknowledging() {
	switch rt.does {
	case records.RouteChange:
		rt.operation = acknowledge(rt.resource)
	case records.RouteChangeMany:
		rt.operation = acknowledgeMany(rt.resource)
	}
}

func acknowledge(r *records.Resource) operation {
	return operation{editing(r, openapi.Operation{
		ID: "acknowledgeEvent", Summary: "Acknowledge one event",
		Body: openapi.Request("Acknowledgement", acknowledgement()),
	}), func(c *call) error {
		p, err := c.readOne()
		if err != nil {
			return err
		}
		return c.edit(c.current(r), p, func(_ string, p records.Patch) (editFunc, error) { return c.acknowledge(p) })
	}}
}

func acknowledgeMany(r *records.Resource) operation {
	op := changeMany(r)
	op.doc.ID, op.doc.Summary = "acknowledgeEvents", "Acknowledge several events atomically"
	op.doc.Body = items(openapi.Request("AcknowledgementItem",
		openapi.Required("id", openapi.ID("")),
		openapi.Optional("if_version", openapi.Integer("The version that the record must have.", 1)),
		acknowledgement()))
	op.doc.Errors = []int{http.StatusNotFound, http.StatusPreconditionFailed}
	op.handle = func(c *call) error {
		items, err := c.readMany()
		if err != nil {
			return err
		}
		return c.editMany(c.current(r), items, func(_ string, p records.Patch) (editFunc, error) { return c.acknowledge(p) })
	}
	return op
}

// acknowledge returns the change that an object requests. An earlier acknowledgement is kept.
func (c *call) acknowledge(p records.Patch) (editFunc, error) {
	const want = "must be true or false"
	acknowledged, present, err := pop[bool](p, "acknowledged", want)
	if err != nil {
		return nil, err
	}
	for name := range p {
		return nil, records.InvalidField(shorten(name), "can't be changed in an event: send acknowledged only")
	}
	if !present {
		return nil, records.InvalidField("acknowledged", want)
	}
	return func(rec records.Record) error {
		e := rec.(*inventory.Event)
		switch {
		case !acknowledged:
			e.AcknowledgedAt, e.AcknowledgedBy = nil, nil
		case e.AcknowledgedAt == nil:
			e.AcknowledgedAt = new(c.now())
			if by := c.caller().UserID; by != "" {
				e.AcknowledgedBy = &by
			}
		}
		return nil
	}, nil
}
