package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
)

// bodies read what is posted, put and patched.
type bodies struct {
	one  *httpx.Body[inventory.Patch]
	many *httpx.Body[[]inventory.Patch]
	ids  *httpx.Body[[]string]
}

func newBodies() bodies {
	return bodies{
		one:  httpx.NewBody[inventory.Patch](nil),
		many: httpx.NewBody[[]inventory.Patch](nil),
		ids:  httpx.NewBody[[]string](nil),
	}
}

// readOne reads an object: the fields of a record.
func (c *call) readOne() (inventory.Patch, error) {
	p, err := c.bodies.one.Read(c.r)
	if err == nil && p == nil {
		err = badField("body", "must be an object, not null")
	}
	return p, err
}

// readMany reads an array of objects.
func (c *call) readMany() ([]inventory.Patch, error) {
	items, err := c.bodies.many.Read(c.r)
	if err != nil {
		return nil, err
	}
	for i, item := range items {
		if item == nil {
			return nil, badField(fmt.Sprintf("[%d]", i), "must be an object, not null")
		}
	}
	return items, enough(len(items))
}

// readIDs reads an array of ids.
func (c *call) readIDs() ([]string, error) {
	ids, err := c.bodies.ids.Read(c.r)
	if err != nil {
		return nil, err
	}
	return ids, enough(len(ids))
}

// enough refuses a call that is about nothing, which nobody means, and one about too much.
func enough(items int) error {
	switch {
	case items == 0:
		return badField("body", "must be an array with at least one item")
	case items > inventory.MaxItems:
		return badField("body", fmt.Sprintf("has %d items: send at most %d at once", items, inventory.MaxItems))
	}
	return nil
}

// peek reads the body and leaves it as it was.
func (c *call) peek() ([]byte, error) {
	body, err := io.ReadAll(c.r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); err != nil && !large {
		return nil, &httpx.Error{Status: http.StatusBadRequest, Message: "The request body could not be read", Err: err}
	}
	c.r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// isArray reports whether a document, if it is one, is an array.
func isArray(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
}

// take takes a member out of an object and reads it. There need not be one.
func take[T any](p inventory.Patch, name, want string) (value T, there bool, err error) {
	doc, there := p[name]
	if !there {
		return value, false, nil
	}
	delete(p, name)
	if string(bytes.TrimSpace(doc)) == "null" || json.Unmarshal(doc, &value) != nil {
		return value, true, badValue(name, want)
	}
	return value, true, nil
}

// badValue is what is wrong with one member.
func badValue(name, want string) *inventory.Error {
	return &inventory.Error{
		Kind: inventory.Invalid, Message: name + " " + want,
		Fields: []inventory.FieldError{{Field: name, Reason: want}},
	}
}

// takeVersion is the member if_version of an item, 0 if there is none.
func takeVersion(p inventory.Patch) (int64, error) {
	const want = "must be a whole number from 1"
	version, there, err := take[int64](p, "if_version", want)
	if there && err == nil && version < 1 {
		err = badValue("if_version", want)
	}
	return version, err
}

// draft is the record that an object describes. What the inventory sets may be there, as
// in a record that was read, and counts for nothing.
func draft(r *inventory.Resource, p inventory.Patch) (inventory.Record, error) {
	for _, f := range r.Fields() {
		if f.ReadOnly {
			delete(p, f.Name)
		}
	}
	rec := r.New()
	return rec, p.Apply(rec)
}

// sameID refuses an object that is about another record than the path.
func sameID(p inventory.Patch, id string) error {
	if _, there := p["id"]; !there {
		return nil
	}
	sent, _, err := take[string](p, "id", "must be a string")
	if err == nil && !strings.EqualFold(sent, id) {
		err = badField("id", "is that of another record: leave it out, or send "+id)
	}
	return err
}
