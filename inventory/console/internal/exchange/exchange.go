// Package exchange has the pages of the console for imports of files, and for differences between what
// devices report and the inventory. Nothing is kept between the steps of a page: the form has the file.
package exchange

import (
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Files returns the templates and the assets of the pages.
func Files() (templates, assets fs.FS, err error) {
	if templates, err = fs.Sub(files, "templates"); err != nil {
		return nil, nil, err
	}
	assets, err = fs.Sub(files, "assets")
	return templates, assets, err
}

// Routes returns the routes of the pages.
func Routes() []site.Route {
	return []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: postImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: sendRejected},
		{Pattern: "GET /drift", Handle: showDrift},
		{Pattern: "POST /drift", Handle: postDrift},
	}
}

const (
	maxFile     = 8 << 20  // bytes of a file; it travels with each step
	maxFormSize = 16 << 20 // bytes of a form: a file in base64, and the rest
)

// document is a file of a form: chosen, pasted, or brought along from the step before.
type document struct {
	Name string
	Text []byte
}

// Encoded is the text for a hidden field. Browsers change line breaks of other values.
func (d *document) Encoded() string { return base64.StdEncoding.EncodeToString(d.Text) }

// readForm reads a form with files, within bounds.
func readForm(q *site.Request) error {
	if !strings.HasPrefix(q.R.Header.Get("Content-Type"), "multipart/form-data") {
		if err := q.R.ParseForm(); err != nil {
			return httpx.Errorf(http.StatusBadRequest, "Invalid form: %s", err)
		}
		return nil
	}
	err := q.R.ParseMultipartForm(maxFormSize)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "The form has more than %d MiB: import large files with inventoryd import", tooLarge.Limit>>20)
	}
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form: %s", err)
	}
	return nil
}

// readDocument returns the file of a form; its text is empty if there is none. The problem says what is
// wrong with it.
func readDocument(q *site.Request) (d *document, problem string, err error) {
	if data := q.R.PostFormValue("data"); data != "" {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil || len(text) > maxFile {
			return nil, "", httpx.Errorf(http.StatusBadRequest, "Invalid form: the file of the step before is damaged")
		}
		return &document{q.R.PostFormValue("name"), text}, "", nil
	}
	d = &document{Text: []byte(strings.ReplaceAll(q.R.PostFormValue("text"), "\r\n", "\n"))}
	file, header, err := q.R.FormFile("file")
	switch {
	case err == nil:
		defer file.Close()
		if header.Size > 0 {
			d.Name = header.Filename
			if d.Text, err = readFile(file); err != nil {
				return nil, "", err
			}
		}
	case errors.Is(err, http.ErrMissingFile), errors.Is(err, http.ErrNotMultipart):
	default:
		return nil, "", httpx.Errorf(http.StatusBadRequest, "Invalid form: %s", err)
	}
	switch {
	case len(d.Text) > maxFile:
		return d, fmt.Sprintf("The file has more than %d MiB. Import it with inventoryd import, which reads files of any size.", maxFile>>20), nil
	case len(strings.TrimSpace(string(d.Text))) == 0:
		return d, "There is nothing to read: choose a file that is not empty, or paste its text.", nil
	}
	return d, "", nil
}

// readFile reads one byte more than a file may have.
func readFile(file multipart.File) ([]byte, error) {
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// changed is a change that a dry run announces.
type changed struct {
	Action   string `json:"action"`
	Type     string `json:"resource_type"`
	ID       string `json:"resource_id"`
	Changes  map[string]struct{ Before, After any }
	Cause    string
	URL      string
	Fields   []difference
	Resource string // a title
}

// difference is a row of the template "diff".
type difference struct{ Field, Before, After string }
