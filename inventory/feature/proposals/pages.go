package proposals

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html
var files embed.FS

// pages returns the list of proposals, the page of each, and the template "propose" of forms that can be proposed.
func pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /proposals", Handle: showList},
		{Pattern: "GET /proposals/{id}", Handle: func(q *site.Request) error { return showOne(q, http.StatusOK, nil) }},
		{Pattern: "POST /proposals/{id}/{do}", Handle: press},
	}, Entries: []site.Entry{
		{Label: "Proposals", Path: "/proposals", Icon: "check", Order: 710, Show: func(*site.Request) bool { return true }},
	}}
}

// showList shows the proposals, open ones first.
func showList(q *site.Request) error {
	status := q.R.URL.Query().Get("status")
	if !q.R.URL.Query().Has("status") {
		status = string(Open)
	}
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	var page struct{ Data []site.Record }
	if err := q.Get("/proposals", query, &page); err != nil {
		return err
	}
	var views []site.Choice
	for _, s := range append(Open.Values(), "") {
		views = append(views, site.Choice{Label: s, URL: q.UI.URL("/proposals?status=" + s), Chosen: s == status})
	}
	return q.Page("proposals.html", "Proposals", map[string]any{"Views": views, "Status": status, "Data": page.Data})
}

// shown is a proposal on its page.
type shown struct {
	site.Record
	site.Changes
	Own, Decidable, Hidden bool
	Conflicts              []conflicting
	Fault                  *site.Fault // why it was not decided
	Do                     string      // the address of the forms
}

// conflicting is a record that has changed since its change was proposed.
type conflicting struct {
	*site.ChangedRecord          // from what it was to what it is
	After               []string // what is proposed, for each of its fields
}

// showOne shows a proposal, and why it was not decided.
func showOne(q *site.Request, status int, refused *site.Fault) error {
	path := "/proposals/" + url.PathEscape(q.R.PathValue("id"))
	p := &shown{Fault: refused, Do: q.UI.URL(path)}
	var a struct {
		Own, Decidable, Hidden bool
		Changes                []site.Change
		Conflicts              []struct {
			Kind   string `json:"resource_type"`
			ID     string `json:"resource_id"`
			Fields []struct {
				Field              string
				Before, Now, After any
			}
		}
	}
	var doc json.RawMessage
	err := q.Get(path, nil, &doc)
	if err == nil {
		err = errors.Join(decode(doc, &a), decode(doc, &p.Record))
	}
	if err != nil {
		return err
	}
	p.Own, p.Decidable, p.Hidden = a.Own, a.Decidable, a.Hidden
	var was, becomes []site.Change
	for _, c := range a.Conflicts {
		then, next := map[string]site.Delta{}, map[string]site.Delta{}
		for _, f := range c.Fields {
			then[f.Field], next[f.Field] = site.Delta{Before: f.Before, After: f.Now}, site.Delta{After: f.After}
		}
		was, becomes = append(was, site.Change{Action: "changed", Kind: c.Kind, ID: c.ID, Changes: then}), append(becomes, site.Change{Action: "changed", Kind: c.Kind, ID: c.ID, Changes: next})
	}
	before, err := q.DescribeChanges(was)
	after, failed := q.DescribeChanges(becomes)
	if err = errors.Join(err, failed); err == nil {
		p.Changes, err = q.DescribeChanges(a.Changes)
	}
	if err != nil {
		return err
	}
	for i, of := range before.Changed {
		c := conflicting{ChangedRecord: of}
		for _, f := range after.Changed[i].Fields {
			c.After = append(c.After, f.After)
		}
		p.Conflicts = append(p.Conflicts, c)
	}
	return q.PageStatus(status, "proposal.html", "Proposal", p)
}

// decode reads a document as the pages do.
func decode(doc []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return d.Decode(into)
}

// press applies or refuses a proposal.
func press(q *site.Request) error {
	path := "/proposals/" + url.PathEscape(q.R.PathValue("id"))
	c := &site.Call{Method: http.MethodPost, Path: path + "/" + url.PathEscape(q.R.PathValue("do"))}
	done := "?done=applied"
	if q.R.PathValue("do") == "refuse" {
		c.Body, done = map[string]string{"reason": q.R.PostFormValue("reason")}, ""
	}
	_, err := q.Do(c, nil)
	if fault, ok := site.AsFault(err); ok && fault.Status != http.StatusNotFound {
		return showOne(q, fault.Status, fault)
	}
	if err != nil {
		return err
	}
	return q.Redirect(path + done)
}
