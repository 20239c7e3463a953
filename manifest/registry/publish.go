package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
)

// publish adds a version.
func (a *api) publish(w http.ResponseWriter, r *http.Request) error {
	namespaces, err := a.authenticate(r)
	if err != nil {
		return err
	}
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	doc, _ := manifest.Parse(body, a.opts.Validate) // its problems are among those of Validate
	if root := doc.Root(); root != nil {
		if name := root.Get("name"); name != nil && name.Kind == manifest.KindString && !mayChange(namespaces, name.Text) {
			return forbidden(namespaces, name.Text)
		}
	}
	if err := invalid(doc.Validate(a.opts.Validate)); err != nil {
		return err
	}
	e, err := NewEntry(body)
	if err != nil {
		return httpx.Errorf(http.StatusUnprocessableEntity, "Invalid manifest: %v", err)
	}
	e.Publish(a.opts.Now())
	if err := a.store.Publish(r.Context(), e, Limits{a.opts.MaxVersions, a.opts.MaxServerBytes}); err != nil {
		return err
	}
	a.audit(r, "published", e)
	return httpx.WriteJSON(w, http.StatusOK, e)
}

// readJSON reads a body that must be JSON.
func readJSON(r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, httpx.Errorf(http.StatusUnsupportedMediaType, "Unsupported content type: send application/json")
	}
	return httpx.ReadBody(r, 0)
}

// invalid returns the errors of a validation, or nil.
func invalid(report *manifest.Report) error {
	if report.Valid() {
		return nil
	}
	e := httpx.Errorf(http.StatusUnprocessableEntity, "Invalid manifest: %d errors", report.Errors)
	if report.Errors == 1 {
		e = httpx.Errorf(http.StatusUnprocessableEntity, "Invalid manifest: 1 error")
	}
	for i := range report.Problems {
		if p := &report.Problems[i]; p.Severity == manifest.Error {
			e.Fields = append(e.Fields, httpx.FieldError{Field: "body" + p.Pointer, Reason: p.Error()})
		}
	}
	return e
}

// statusRequest is the body of a change of status.
type statusRequest struct {
	Status        Status `json:"status"`
	StatusMessage string `json:"statusMessage"`
}

// setStatus changes the status of a version.
func (a *api) setStatus(w http.ResponseWriter, r *http.Request) error {
	changed, err := a.change(r, r.PathValue("version"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, &changed[0])
}

// setAllStatus changes the status of all versions of a server.
func (a *api) setAllStatus(w http.ResponseWriter, r *http.Request) error {
	changed, err := a.change(r, "")
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"updatedCount": len(changed), "servers": changed})
}

// change changes the status of a version, or of all if version is "".
func (a *api) change(r *http.Request, version string) ([]Entry, error) {
	namespaces, err := a.authenticate(r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if !mayChange(namespaces, name) {
		return nil, forbidden(namespaces, name)
	}
	body, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	c, err := parseStatus(body)
	if err != nil {
		return nil, err
	}
	c.At = a.opts.Now().UTC().Truncate(time.Microsecond)
	changed, err := a.store.SetStatus(r.Context(), name, version, c)
	for i := range changed {
		a.audit(r, "status changed", &changed[i])
	}
	return changed, err
}

// parseStatus reads the body of a change of status.
func parseStatus(body []byte) (*Change, error) {
	var q statusRequest
	bad := func(field, reason string) error {
		return &httpx.Error{
			Status: http.StatusUnprocessableEntity, Message: field + " " + reason,
			Fields: []httpx.FieldError{{Field: "body." + field, Reason: reason}},
		}
	}
	err := json.Unmarshal(body, &q)
	if typeError, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, bad(typeError.Field, "must be a string")
	}
	if err != nil {
		return nil, httpx.Errorf(http.StatusBadRequest, "The body is not JSON")
	}
	switch {
	case !q.Status.valid():
		return nil, bad("status", "must be active, deprecated or deleted")
	case q.Status == Active && q.StatusMessage != "":
		return nil, bad("statusMessage", "must be empty for the status active")
	case utf8.RuneCountInString(q.StatusMessage) > maxMessage:
		return nil, bad("statusMessage", fmt.Sprintf("must have at most %d characters", maxMessage))
	}
	return &Change{Status: q.Status, Message: q.StatusMessage}, nil
}
