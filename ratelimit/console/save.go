package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx"
)

// save changes, creates or deletes the file of the form, if the configuration is valid then, and the file is still
// the one that was read.
func (c *Console) save(w http.ResponseWriter, r *http.Request) error {
	if err := c.allowed(c.editing, r, "configuration"); err != nil {
		return err
	}
	page, err := c.posted(r)
	if err != nil {
		return err
	}
	if !page.MaySave {
		return httpx.Errorf(http.StatusForbidden, "%s", page.WhyNot)
	}
	saver := c.opts.Files.(Saver) // as MaySave says
	status := http.StatusUnprocessableEntity
	if page.Mode == creating {
		if err := saver.Writable(page.Name); err != nil {
			page.Failure = "The file can't be created: " + err.Error() + "."
			page.Checked = c.checkText(r.Context(), page)
			return c.editPage(w, r, status, page)
		}
	}
	if page.Checked = c.checkText(r.Context(), page); !page.Checked.Valid {
		page.Failure = "The configuration would have faults. Nothing was changed."
		return c.editPage(w, r, status, page)
	}
	done, err := page.apply(saver)
	var refused *httpx.Error
	switch {
	case err == nil:
		c.log.WarnContext(r.Context(), "configuration file "+done, "file", page.Name, "from", r.RemoteAddr, "bytes", len(page.Text),
			"added", page.Checked.Added, "removed", page.Checked.Removed, "changed", page.Checked.Changed)
		back := url.Values{"done": {done}, "file": {page.Name}}
		http.Redirect(w, r, c.ui.URL("/configuration?"+back.Encode()), http.StatusSeeOther)
		return nil
	case errors.As(err, &refused):
		return err
	case errors.Is(err, ErrChanged):
		status, page.Failure = http.StatusConflict, "The file has changed since this page was opened. Nothing was changed: copy your text, reload the page and try again."
	case errors.Is(err, fs.ErrExist):
		status, page.Failure = http.StatusConflict, "There is a file of that name: choose another one."
	default:
		c.log.ErrorContext(r.Context(), "a configuration file could not be "+done, "file", page.Name, "from", r.RemoteAddr, "err", err)
		status, page.Failure = http.StatusInternalServerError, "The file could not be "+done+". The reason is in the log of the server."
	}
	return c.editPage(w, r, status, page)
}

// apply does what the form asks for. done is what that is, as a participle.
func (p *editPage) apply(saver Saver) (done string, err error) {
	if p.Mode == creating {
		return "created", saver.Create(p.Name, []byte(p.Text))
	}
	was, err := hex.DecodeString(p.Was)
	if err != nil || len(was) != sha256.Size {
		return "", httpx.Errorf(http.StatusBadRequest, "The form is not complete: reload the page")
	}
	if p.Mode == deleting {
		return "deleted", saver.Delete(p.Name, [sha256.Size]byte(was))
	}
	return "saved", saver.Save(p.Name, []byte(p.Text), [sha256.Size]byte(was))
}
