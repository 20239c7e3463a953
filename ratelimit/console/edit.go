package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
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

// The modes of the page: a file is changed, created or deleted.
const (
	changing = ""
	creating = "create"
	deleting = "delete"
)

// editPage is the page to edit a file.
type editPage struct {
	Mode            string
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
	return c.edit(w, r, &editPage{Name: r.URL.Query().Get("file")})
}

// newFile shows the page for a new file, and remover that to delete one.
func (c *Console) newFile(w http.ResponseWriter, r *http.Request) error {
	return c.edit(w, r, &editPage{Mode: creating, Text: firstText})
}

func (c *Console) remover(w http.ResponseWriter, r *http.Request) error {
	return c.edit(w, r, &editPage{Mode: deleting, Name: r.URL.Query().Get("file")})
}

// firstText is the text of a new file.
const firstText = `domain: new
descriptors:
  - key: client
    rate_limit: {unit: minute, requests_per_unit: 60}
`

func (c *Console) edit(w http.ResponseWriter, r *http.Request, page *editPage) error {
	if err := c.open(page); err != nil {
		return err
	}
	page.Checked = c.checkText(r.Context(), page)
	return c.editPage(w, r, http.StatusOK, page)
}

func (c *Console) editPage(w http.ResponseWriter, r *http.Request, status int, page *editPage) error {
	title := map[string]string{changing: "Edit ", creating: "New file ", deleting: "Delete "}[page.Mode] + page.Name
	return c.page(w, r, status, "edit.html", title, page)
}

// mayCreate reports whether files can be created here.
func (c *Console) mayCreate() bool {
	saver, ok := c.opts.Files.(Saver)
	return ok && c.editing != nil && saver.Writable("new.yaml") == nil
}

// open reads the file of a page.
func (c *Console) open(page *editPage) error {
	if page.Mode == creating {
		if page.MaySave = c.mayCreate(); !page.MaySave {
			return httpx.Errorf(http.StatusForbidden, "Files can't be created here: no token for saving is set, or the source can't be written")
		}
		return nil
	}
	if page.Mode == changing && page.Name == "" || c.opts.Files == nil {
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
	case c.editing == nil:
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
	page := &editPage{Name: r.PostForm.Get("file"), Mode: r.PostForm.Get("mode")}
	if page.Mode == changing && page.Name == pasted {
		page.Name = ""
	}
	if err := c.open(page); err != nil {
		return nil, err
	}
	text := r.PostForm.Get("text")
	if page.Mode == deleting {
		text = page.Text
	} else if !strings.Contains(page.Text, "\r\n") {
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
	return c.editPage(w, r, http.StatusOK, page)
}

// compareTimeout bounds how long recent requests are compared.
const compareTimeout = 5 * time.Second

// checkText checks the text of a page.
func (c *Console) checkText(ctx context.Context, page *editPage) *checked {
	if page.Text == "" && page.Mode == changing && !page.IsFile {
		return nil
	}
	out := &checked{}
	made, err := c.parse(page)
	if err == nil {
		err = c.engine.Check(made.Ruleset)
	}
	if err != nil {
		out.Faults = problemsOf(err)
		_, lines := linesOf([]byte(page.Text), slices.DeleteFunc(slices.Clone(out.Faults), func(p problem) bool { return p.File != page.FileName() }))
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

// FileName returns the name of the file of a page, one for a new file that has none yet included.
func (p *editPage) FileName() string {
	if p.Mode == creating {
		return cmp.Or(p.Name, "new.yaml")
	}
	return p.Name
}

// files returns the files as they would be after the change of a page.
func (p *editPage) files(now []config.File) []config.File {
	list := slices.Clone(now)
	at := slices.IndexFunc(list, func(f config.File) bool { return f.Name == p.FileName() })
	switch {
	case p.Mode == deleting:
		return slices.DeleteFunc(list, func(f config.File) bool { return f.Name == p.Name })
	case at < 0 || p.Mode == creating: // the name of another file is refused when it is created
		return append(list, config.File{Name: p.FileName(), Data: []byte(p.Text)})
	}
	list[at].Data = []byte(p.Text)
	return list
}

// parse parses the files after the change of the page. A text that is no file replaces the domain that it names.
func (c *Console) parse(page *editPage) (*config.Config, error) {
	if page.IsFile || page.Mode == creating {
		return c.opts.Files.Parse(page.files(c.opts.Files.Read().Files))
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
