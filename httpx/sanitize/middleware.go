package sanitize

import (
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// Middleware responds with 400 to requests with markup and names the field. The handler can
// still read the whole body.
func (p *Policy) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.request(r); err != nil {
			httpx.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Policy) request(r *http.Request) error {
	if r.URL.RawQuery != "" {
		// A malformed parameter is invisible to the handler too.
		if err := p.values(r.URL.Query(), "query parameter"); err != nil {
			return err
		}
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := httpx.ReadBody(r, p.maxBody)
	if err != nil {
		return err
	}
	return p.body(r.Header.Get("Content-Type"), body)
}

func (p *Policy) body(contentType string, body []byte) error {
	kind, parameters, _ := mime.ParseMediaType(contentType)
	switch kind {
	case "application/x-www-form-urlencoded":
		values, _ := url.ParseQuery(string(body)) // what http.Request.ParseForm returns
		if err := p.values(values, "form field"); err != nil {
			return err
		}
	case "multipart/form-data":
		if err := p.multipart(body, parameters["boundary"]); err != nil {
			return err
		}
	}
	if looksLikeJSON(body) {
		return p.json(body)
	}
	return nil
}

// values checks a query or a form in the order of names, so that the error is deterministic.
func (p *Policy) values(values url.Values, what string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := p.field(what, name, values[name]...); err != nil {
			return err
		}
	}
	return nil
}

// field checks a name and its values.
func (p *Policy) field(what, name string, values ...string) error {
	if !p.Clean(name) {
		return &httpx.Error{Status: http.StatusBadRequest, Message: "HTML is not allowed in the name of a " + what}
	}
	if p.skips(name) {
		return nil
	}
	for _, value := range values {
		if !p.Clean(value) {
			return markup(what, name)
		}
	}
	return nil
}

// markup returns the error for one field.
func markup(what, name string) error {
	name = printable.Truncate(name, 128)
	const reason = "contains HTML markup: send plain text"
	return &httpx.Error{
		Status:  http.StatusBadRequest,
		Message: "HTML is not allowed: " + what + " " + name + " " + reason,
		Fields:  []httpx.FieldError{{Field: name, Code: "markup", Reason: reason}},
	}
}
