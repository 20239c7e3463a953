package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// maxEdit is the size of the largest file that can be edited here, in bytes.
const maxEdit = 256 << 10

// pasted is the name of a text that is no file.
const pasted = "pasted.yaml"

// editPage is the page to edit a file.
type editPage struct {
	Name, Text, Was string // Was is the hash of the file as it was read
	IsFile          bool
	MaySave         bool
	WhyNot          string // why it can't be saved
	Checked         *checked
	Failure         string // why it was not saved
}

// checked is what a changed file would do.
type checked struct {
	Faults   []problem
	Warnings []problem
	Lines    []lineView // those with faults
	Changes  []change
	More     int // changes that are not shown
	Added    int
	Removed  int
	Changed  int
	Recent   *comparison // nil without recent requests, or with faults
	Valid    bool
}

// change is a rule that differs.
type change struct {
	Kind          string // add, remove or change
	Rule          string
	Before, After string
}

// editor shows a file for editing.
func (c *Console) editor(w http.ResponseWriter, r *http.Request) error {
	page := &editPage{Name: r.URL.Query().Get("file")}
	if err := c.open(page); err != nil {
		return err
	}
	page.Checked = c.checkText(r.Context(), page)
	return c.page(w, r, http.StatusOK, "edit.html", "Edit "+page.Name, page)
}

// open reads the file of a page.
func (c *Console) open(page *editPage) error {
	if page.Name == "" || c.opts.Files == nil {
		page.Name, page.WhyNot = pasted, "The text is compared with the active rules, and belongs to no file."
		return nil
	}
	f, ok := c.opts.Files.Read().file(page.Name)
	if !ok {
		return httpx.Errorf(http.StatusNotFound, "There is no configuration file of that name")
	}
	if len(f.Data) > maxEdit {
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "The file is too large to edit here: it has more than %d KiB", maxEdit>>10)
	}
	page.IsFile, page.Text, page.Was = true, string(f.Data), hashOf(f.Data)
	saver, ok := c.opts.Files.(Saver)
	switch {
	case !ok:
		page.WhyNot = "The program contains the file: change it there."
	case c.edit == nil:
		page.WhyNot = "No token for saving is set. Copy the text into the file."
	default:
		if err := saver.Writable(page.Name); err != nil {
			page.WhyNot = "The file can't be written here: " + err.Error() + ". Copy the text into the file."
		} else {
			page.MaySave = true
		}
	}
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// posted returns the page with the text of a form. Browsers send line breaks as CR LF.
func (c *Console) posted(r *http.Request) (*editPage, error) {
	_ = r.ParseForm() // kit.Protect has read it
	page := &editPage{Name: r.PostForm.Get("file")}
	if page.Name == pasted {
		page.Name = ""
	}
	if err := c.open(page); err != nil {
		return nil, err
	}
	text := r.PostForm.Get("text")
	if !strings.Contains(page.Text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if len(text) > maxEdit {
		return nil, httpx.Errorf(http.StatusRequestEntityTooLarge, "The text is too large: use at most %d KiB", maxEdit>>10)
	}
	page.Text, page.Was = text, r.PostForm.Get("was")
	return page, nil
}

// check says what is wrong with the text of the form, and what it would change.
func (c *Console) check(w http.ResponseWriter, r *http.Request) error {
	page, err := c.posted(r)
	if err != nil {
		return err
	}
	page.Checked = c.checkText(r.Context(), page)
	if ui.IsPart(r) {
		return c.part(w, r, "edit.html", "checked", page)
	}
	return c.page(w, r, http.StatusOK, "edit.html", "Edit "+page.Name, page)
}

// compareTimeout bounds how long recent requests are compared.
const compareTimeout = 5 * time.Second

// checkText checks the text of a page.
func (c *Console) checkText(ctx context.Context, page *editPage) *checked {
	if page.Text == "" && !page.IsFile {
		return nil
	}
	out := &checked{}
	made, err := c.parse(page)
	if err == nil {
		err = c.engine.Check(made.Ruleset)
	}
	if err != nil {
		out.Faults = problemsOf(err)
		_, lines := linesOf([]byte(page.Text), slices.DeleteFunc(slices.Clone(out.Faults), func(p problem) bool { return p.File != page.Name }))
		out.Lines = slices.DeleteFunc(lines, func(l lineView) bool { return len(l.Problems) == 0 })
		return out
	}
	out.Valid = true
	out.Warnings = problems(made.Warnings, true)
	old := c.load().Domains
	if rules := c.engine.Rules(); old == nil && rules != nil {
		old = domainsOf(rules)
	}
	out.compare(newTree(old), newTree(made.Domains))
	if c.opts.Recent != nil {
		ctx, cancel := context.WithTimeout(ctx, compareTimeout)
		defer cancel()
		out.Recent, _ = c.opts.Recent.compare(ctx, c.engine.Rules(), made.Ruleset) // nil: it took too long
	}
	return out
}

// parse parses the files with the text of the page in place of its file. A text that is no file replaces the
// domain that it names.
func (c *Console) parse(page *editPage) (*config.Config, error) {
	if page.IsFile {
		list := slices.Clone(c.opts.Files.Read().Files)
		for i := range list {
			if list[i].Name == page.Name {
				list[i].Data = []byte(page.Text)
			}
		}
		return c.opts.Files.Parse(list)
	}
	made, err := config.Parse([]config.File{{Name: pasted, Data: []byte(page.Text)}}, nil)
	if err != nil {
		return nil, err
	}
	old := c.load().Domains
	if rules := c.engine.Rules(); old == nil && rules != nil {
		old = domainsOf(rules)
	}
	all := slices.Clone(made.Domains)
	for _, d := range old {
		if !slices.ContainsFunc(made.Domains, func(n ratelimit.Domain) bool { return n.Name == d.Name }) {
			all = append(all, d)
		}
	}
	rules, err := ratelimit.Compile(all, &ratelimit.CompileOptions{MergeDomains: true})
	if err != nil {
		return nil, err
	}
	return &config.Config{Ruleset: rules, Domains: all, Warnings: made.Warnings}, nil
}

// maxChanges is how many changed rules are shown.
const maxChanges = 100

// compare sets the rules that differ.
func (c *checked) compare(before, after *tree) {
	add := func(count *int, kind string, n *node, was, is string) {
		*count++
		if len(c.Changes) == maxChanges {
			c.More++
			return
		}
		c.Changes = append(c.Changes, change{kind, n.Name(), was, is})
	}
	for _, d := range after.domains {
		for _, n := range d.Nodes {
			was := before.byID[n.ID]
			switch is := describe(n.Rule); {
			case was == nil:
				add(&c.Added, "add", n, "", is)
			case describe(was.Rule) != is:
				add(&c.Changed, "change", n, describe(was.Rule), is)
			}
		}
	}
	for _, d := range before.domains {
		for _, n := range d.Nodes {
			if after.byID[n.ID] == nil {
				add(&c.Removed, "remove", n, describe(n.Rule), "")
			}
		}
	}
}

// describe writes all properties of a rule but those below it.
func describe(r *ratelimit.Rule) string {
	var parts []string
	if text := sizeText(r.Limit); text != "" {
		parts = append(parts, text)
	} else {
		parts = append(parts, "no limit")
	}
	if l := r.Limit; l != nil {
		if l.Burst > 0 {
			parts = append(parts, fmt.Sprintf("burst %d", l.Burst))
		}
		if l.Name != "" {
			parts = append(parts, "name "+l.Name)
		}
	}
	for _, c := range chipsOf(r) {
		parts = append(parts, c.Text)
	}
	if r.DetailedMetric {
		parts = append(parts, "detailed metric")
	}
	if len(r.Metadata) > 0 {
		parts = append(parts, fmt.Sprintf("metadata %v", r.Metadata)) // maps are printed sorted
	}
	return strings.Join(parts, ", ")
}

// save replaces the file by the text of the form, if that is valid, and the file is still the one that was read.
func (c *Console) save(w http.ResponseWriter, r *http.Request) error {
	if err := c.allowed(c.edit, r, "configuration"); err != nil {
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
	if page.Checked = c.checkText(r.Context(), page); !page.Checked.Valid {
		page.Failure = "The configuration has faults. Nothing was saved."
	} else if was, err := hex.DecodeString(page.Was); err != nil || len(was) != sha256.Size {
		return httpx.Errorf(http.StatusBadRequest, "The form is not complete: reload the page")
	} else if err := saver.Save(page.Name, []byte(page.Text), [sha256.Size]byte(was)); errors.Is(err, ErrChanged) {
		status, page.Failure = http.StatusConflict, "The file has changed since this page was opened. Nothing was saved: copy your text, reload the page and try again."
	} else if err != nil {
		c.log.ErrorContext(r.Context(), "a configuration file could not be saved", "file", page.Name, "from", r.RemoteAddr, "err", err)
		status, page.Failure = http.StatusInternalServerError, "The file could not be saved. The reason is in the log of the server."
	} else {
		c.log.WarnContext(r.Context(), "configuration file saved", "file", page.Name, "from", r.RemoteAddr, "bytes", len(page.Text),
			"added", page.Checked.Added, "removed", page.Checked.Removed, "changed", page.Checked.Changed)
		http.Redirect(w, r, c.ui.URL("/configuration?"+url.Values{"done": {"saved"}, "file": {page.Name}}.Encode()), http.StatusSeeOther)
		return nil
	}
	return c.page(w, r, status, "edit.html", "Edit "+page.Name, page)
}
