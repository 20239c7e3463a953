package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
)

// buffers are used again from one answer to the next.
type buffers struct{ pool sync.Pool }

// largeBuffer is one that is not kept.
const largeBuffer = 1 << 18

func (p *buffers) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *buffers) put(b *[]byte) {
	if cap(*b) <= largeBuffer {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

// send answers with a JSON document that write appends.
func (c *call) send(status int, write func(b []byte) []byte) {
	b := c.buffers.get()
	*b = append(write(*b), '\n')
	c.sendBytes(status, *b)
	c.buffers.put(b)
}

// contentType is shared by all answers: it has no room for a second value.
var contentType = []string{"application/json"}

// shortAnswer is up to how many bytes net/http adds the length of an answer by itself, which
// saves the longest header map that there is.
const shortAnswer = 1024

func (c *call) sendBytes(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = contentType
	if len(body) > shortAnswer {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // a client that does not listen is its own loss
}

// sendRecord answers with a record and its tag.
func (c *call) sendRecord(status int, r *inventory.Resource, rec inventory.Record) {
	c.tag(rec)
	c.send(status, func(b []byte) []byte { return c.encoders[r].append(b, rec) })
}

// confirm answers that it is done.
func (c *call) confirm(message string) error {
	return httpx.WriteJSON(c.w, http.StatusOK, httpx.Confirm(message))
}

// tag puts a record's entity tag on the answer, unless the record is not to be.
func (c *call) tag(rec inventory.Record) {
	if !c.dry {
		httpx.SetTag(c.w, tagOf(rec))
	}
}

// tagOf is a record's entity tag.
func tagOf(rec inventory.Record) string {
	return httpx.VersionTag(rec.Meta().ID, rec.Meta().Version)
}

// match asks the request whether it may change a record as it is now (reference, ruling 19).
func (c *call) match(rec inventory.Record) error {
	if err := httpx.IfMatch(c.r, tagOf(rec)); err != nil {
		return err
	}
	return httpx.IfNoneMatch(c.r, tagOf(rec))
}

// location is the path of a record that was posted to the path of the list, as the client
// knows it: something outside may have stripped a prefix from what is seen here.
func (c *call) location(id string) string {
	path := c.r.URL.EscapedPath()
	if sent, err := url.ParseRequestURI(c.r.RequestURI); err == nil {
		path = sent.EscapedPath()
	}
	return path + "/" + id
}
