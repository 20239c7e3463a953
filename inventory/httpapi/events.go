package httpapi

import (
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Events don't change, but for somebody having seen them. Who and when is the inventory's
// to say, so a client sends no more than whether:
//
//	PATCH /events/{id}  {"acknowledged": true}
//	PATCH /events       [{"id": "018f…", "acknowledged": true}]

func acknowledgement() openapi.Property {
	return openapi.Must("acknowledged", openapi.Boolean("true: somebody has seen to it, from now on. false: nobody has."))
}

// acknowledge is PATCH of one event (reference, ruling 6).
func (a *API) acknowledge() operation {
	r := inventory.Of[inventory.Event]()
	return operation{
		editing(r, openapi.Operation{
			ID: "acknowledgeEvent", Summary: "Say that one event has been seen to, or has not",
			Body: &openapi.Body{Schema: openapi.Request("Acknowledgement", acknowledgement())},
		}),
		func(c *call) error {
			p, err := c.readOne()
			if err != nil {
				return err
			}
			return c.edit(r, func(string) (apply, error) { return c.acknowledge(p) })
		},
	}
}

// acknowledgeMany is PATCH of several events.
func (a *API) acknowledgeMany() operation {
	r := inventory.Of[inventory.Event]()
	op := a.changeMany(r)
	op.doc.ID, op.doc.Summary = "acknowledgeEvents", "Say that several events have been seen to, or have not: all or none"
	op.doc.Body = &openapi.Body{Schema: items(openapi.Request("AcknowledgementItem",
		openapi.Must("id", openapi.ID("")), openapi.May("if_version", openapi.Integer("The version that it must have.", 1)), acknowledgement()))}
	op.doc.Errors = []int{http.StatusNotFound, http.StatusPreconditionFailed}
	op.do = func(c *call) error {
		items, err := c.readMany()
		if err != nil {
			return err
		}
		return c.editMany(r, items, func(_ string, p inventory.Patch) (apply, error) { return c.acknowledge(p) })
	}
	return op
}

// acknowledge is the change that an object asks for. Who was first stays.
func (c *call) acknowledge(p inventory.Patch) (apply, error) {
	const want = "must be true or false"
	seen, there, err := take[bool](p, "acknowledged", want)
	if err != nil {
		return nil, err
	}
	for name := range p {
		return nil, badValue(show(name), "is nothing that changes of an event: send acknowledged")
	}
	if !there {
		return nil, badValue("acknowledged", want)
	}
	return func(rec inventory.Record) error {
		c.setAcknowledged(rec.(*inventory.Event), seen)
		return nil
	}, nil
}

func (c *call) setAcknowledged(e *inventory.Event, seen bool) {
	switch by := c.caller().UserID; {
	case !seen:
		e.AcknowledgedAt, e.AcknowledgedBy = nil, nil
	case e.AcknowledgedAt == nil:
		now := c.opts.Now()
		e.AcknowledgedAt = &now
		if by != "" {
			e.AcknowledgedBy = &by
		}
	}
}
