// Package proposals is the feature of changes that somebody else approves: a request with the parameter propose is stored, and
// another user looks at what it would change and applies or refuses it (REFERENCE.md, 2.21).
//
// # Design notes
//
// What is stored is the request, so every bulk request, import and transaction can be proposed, and the API needs no other
// form of a change. It is repeated with the rights of who applies it, and has to make the changes that were shown, from the same
// versions: there is nothing to merge.
package proposals

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of proposals.
const (
	maxOpen    = 200 // in all
	maxOwn     = 50  // of one user
	maxListed  = 200
	maxDecided = 1000 // the newest
	maxName    = 100  // characters
)

// The states of proposals.
const (
	open      = "open"
	applied   = "applied"
	refused   = "refused"
	withdrawn = "withdrawn" // by the author
)

// Proposal is a request that another user may make.
type Proposal struct {
	records.Base
	AuthorID  string     `json:"-" field:"hidden,column=author_id,max=100,index"`
	Author    string     `json:"author" field:"readonly,max=100"`
	Comment   string     `json:"comment" field:"required,max=500"`
	Summary   string     `json:"summary" field:"readonly,max=1000"` // what it would change
	Status    string     `json:"status" field:"readonly,max=20,index"`
	DecidedAt *time.Time `json:"decided_at" field:"readonly"`
	DecidedBy string     `json:"decided_by" field:"readonly,max=100"`
	Reason    string     `json:"reason" field:"max=500"`
	Touched   string     `json:"-" field:"hidden,column=touched,format=text"` // items of the resources and places
}

// Content is what a proposal would do.
type Content struct {
	records.Base
	ProposalID string `json:"proposal_id" field:"required,unique,ref=proposals:cascade"`
	Request    string `json:"request" field:"format=text"` // a feature.Sent
	Items      string `json:"items" field:"format=text"`
	Sum        string `json:"sum" field:"max=100"` // records.Preview.Sum
}

// item is a change of a proposal: an entry of the audit log that was not written.
type item struct {
	*records.AuditLog
	Places  string `json:"places"`
	Version int64  `json:"was"` // of the record before; 0 for a new one, and for what goes along with a deletion
}

// ValidateIn bounds the open proposals.
func (p *Proposal) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	of := records.Of[Proposal](tx.Schema())
	all, err := records.Count(ctx, tx, &records.Query{Resource: of}, "status", open)
	own, failed := records.Count(ctx, tx, &records.Query{Resource: of}, "status", open, "author_id", p.AuthorID)
	if err = errors.Join(err, failed); err == nil && before == nil && (own >= maxOwn || all >= maxOpen) {
		err = &records.Error{Kind: records.Conflict, Message: fmt.Sprintf("There are %d open proposals of yours, and %d in all: at most %d and %d may be open; wait for decisions, or withdraw some", own, all, maxOwn, maxOpen)}
	}
	return err
}

// answer is a proposal in a response.
type answer struct {
	Proposal
	Own       bool             `json:"own"`
	Decidable bool             `json:"decidable"`
	Hidden    bool             `json:"hidden"`
	Changes   []feature.Change `json:"changes"`
	Conflicts []conflict       `json:"conflicts"`
}

// conflict is a record that has changed since its change was proposed.
type conflict struct {
	ResourceType string  `json:"resource_type"`
	ResourceID   string  `json:"resource_id"`
	Fields       []moved `json:"fields"` // none if the record does not exist any more
}

// moved is a field that the proposal changes.
type moved struct {
	Field  string `json:"field"`
	Before any    `json:"before"` // when it was proposed
	Now    any    `json:"now"`
	After  any    `json:"after"` // what is proposed
}

// New returns the feature. review names changes that have to be proposed (feature.Proposals.Review).
func New(review ...string) *feature.Feature {
	field := openapi.Object("ProposalField", openapi.Required("field", openapi.String("")), openapi.Optional("before", &openapi.Schema{}), openapi.Optional("now", &openapi.Schema{}), openapi.Optional("after", &openapi.Schema{}))
	status := &openapi.Schema{Type: "string", Enum: []any{open, applied, refused, withdrawn}}
	head := openapi.Object("ProposalHead", openapi.Required("id", openapi.ID("")), openapi.Required("author", openapi.String("")), openapi.Required("comment", openapi.String("")),
		openapi.Required("summary", openapi.String("What it would change, in words.")), openapi.Required("status", status), openapi.Required("created_at", openapi.Time("")),
		openapi.Required("decided_at", openapi.OptionalTime("")), openapi.Required("decided_by", openapi.String("")), openapi.Required("reason", openapi.String("Why it was refused.")))
	one := openapi.Object("Proposal", append(slices.Clip(head.Properties), openapi.Required("own", openapi.Boolean("Whether it is the sender's, who may withdraw it.")),
		openapi.Required("decidable", openapi.Boolean("Whether the sender may apply and refuse it.")), openapi.Required("hidden", openapi.Boolean("Whether it has changes that the sender may not see.")),
		openapi.Required("changes", openapi.Preview().Properties[5].Schema), openapi.Required("conflicts", openapi.Array(openapi.Object("ProposalConflict", openapi.Required("resource_type", openapi.String("")),
			openapi.Required("resource_id", openapi.ID("")), openapi.Required("fields", openapi.Array(field, 0, 1000))), 0, records.MaxPreview)))...)
	operation := func(method, path, id, summary string, handle func(context.Context, *feature.Request) (*feature.Response, error)) feature.Operation {
		return feature.Operation{
			Operation: openapi.Operation{Method: method, Path: path, ID: id, Tag: "proposals", Summary: summary, Responses: []openapi.Response{{Status: http.StatusOK, Schema: one}}, Errors: []int{http.StatusNotFound}},
			Access:    auth.Permission{Everyone: true}, Scoped: true, Approves: true, OwnPreview: true, Handle: handle,
		}
	}
	list := operation(http.MethodGet, "/proposals", "listProposals", "List the newest proposals that change what you may see, and yours", listAll)
	list.Parameters, list.Errors = []openapi.Parameter{{Name: "status", Schema: status, Description: "Only those in this state."}}, nil
	list.Responses[0].Schema = openapi.Object("Proposals", openapi.Required("data", openapi.Array(head, 0, maxListed)))
	apply := operation(http.MethodPost, "/proposals/{id}/apply", "applyProposal", "Make the changes of another user's proposal, in one transaction", feature.WithID(apply))
	apply.Parameters, apply.Errors = []openapi.Parameter{openapi.DryRun()}, []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	refuse := operation(http.MethodPost, "/proposals/{id}/refuse", "refuseProposal", "Refuse another user's proposal, or withdraw your own", feature.WithBody(refuse))
	refuse.Body = openapi.Request("RefuseProposal", openapi.Optional("reason", openapi.BoundedString(0, 500)))
	refuse.Errors = []int{http.StatusNotFound, http.StatusConflict}
	return &feature.Feature{
		Needs: map[string]records.Record{"proposals": &Proposal{}},
		Schema: []records.Part{
			records.Define[Proposal](records.Definition{Name: "proposals", Label: "Proposal", Internal: true}),
			records.Define[Content](records.Definition{Name: "proposal-contents", Label: "Proposal content", Internal: true, Unaudited: true}),
		},
		Reserved:  []string{"propose"},
		Tags:      map[string]string{"proposals": "Changes that another user approves."},
		Proposals: &feature.Proposals{Review: review, Propose: propose, Schema: one},
		Operations: []feature.Operation{
			list, operation(http.MethodGet, "/proposals/{id}", "getProposal", "Show a proposal, with its changes and conflicts", feature.WithID(get)), apply, refuse,
		},
		Pages: pages(),
	}
}

// me identifies the sender.
func me(r *feature.Request) string {
	by := r.Inventory.Sender()
	return printable.Prefix(cmp.Or(by.UserID, by.Name), maxName)
}

// propose tries a request, and stores it with what it would change.
func propose(ctx context.Context, r *feature.Request, sent *feature.Sent) (*feature.Response, error) {
	p := &Proposal{AuthorID: me(r), Author: printable.Prefix(r.Inventory.Sender().Name, maxName), Comment: strings.TrimSpace(r.Query.Get("propose")), Status: open}
	c := &Content{Request: text(sent)}
	res, err := r.Inventory.Repeat(ctx, sent, "", false, func(_ context.Context, in *records.Engine, now *records.Preview) error {
		var items, touched []item
		for _, e := range now.Changes {
			it := item{AuditLog: e, Places: e.Places}
			if e.Cause == "" {
				it.Version = now.Versions[e.ResourceID]
			}
			items = append(items, it)
			if !slices.ContainsFunc(touched, func(t item) bool { return t.ResourceType == e.ResourceType && t.Places == e.Places }) {
				touched = append(touched, item{AuditLog: &records.AuditLog{ResourceType: e.ResourceType}, Places: e.Places})
			}
		}
		p.Summary, c.Sum = printable.Prefix(now.Message(), 1000), now.Sum(in.Store().Schema())
		c.Items, p.Touched = text(items), text(touched)
		switch {
		case len(items) == 0:
			return records.Refuse("propose", records.NotAllowed("for a request that changes nothing"))
		case now.Truncated:
			return records.Refuse("propose", records.TooMany(records.MaxPreview, "changes, those that go along included: propose parts"))
		}
		return nil
	})
	if res != nil || err != nil {
		return res, err
	}
	_, err = r.Inventory.Change(ctx, func(ctx context.Context, tx *feature.Transaction) error {
		v, of := tx.Engine.LimitTo(nil), records.Of[Proposal](tx.Store().Schema())
		old, err := v.List(ctx, (&records.Query{Resource: of, Limit: 1, Count: true}).Where("status", records.Condition{Op: records.Ne, Value: open}))
		if err == nil && old.Total >= maxDecided { // ids are in order of age
			err = v.Delete(ctx, records.Caller{Name: "retention"}, of, records.Edit{ID: old.Records[0].Meta().ID})
		}
		if err == nil {
			err = v.Create(ctx, tx.By, p)
		}
		if err != nil {
			return err
		}
		c.ProposalID = p.ID
		return v.Create(ctx, tx.By, c)
	})
	if err != nil {
		return nil, err
	}
	return show(ctx, r, p.ID, http.StatusAccepted)
}

// seen returns what the sender sees of items.
func seen(ctx context.Context, r *feature.Request, doc string) (visible []*records.AuditLog, items []item, err error) {
	if err := json.Unmarshal([]byte(doc), &items); err != nil {
		return nil, nil, err
	}
	all := make([]*records.AuditLog, len(items))
	for i, it := range items {
		all[i], it.AuditLog.Places = it.AuditLog, it.Places
	}
	visible, err = r.Inventory.Seen(ctx, all)
	return visible, items, err
}

func listAll(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	status, err := r.Choice("status", "", open, applied, refused, withdrawn)
	if err != nil {
		return nil, err
	}
	from := records.Fresh(r.Inventory.Engine().Store())
	of := records.Of[Proposal](from.Schema())
	q := &records.Query{Resource: of, Limit: maxListed, Sort: []records.SortKey{{Field: of.KeyField("id"), Desc: true}}}
	if status != "" {
		q = q.Where("status", status)
	}
	all, err := records.Select[Proposal](ctx, from, q)
	if err != nil {
		return nil, err
	}
	page := struct {
		Data []*Proposal `json:"data"`
	}{[]*Proposal{}}
	for _, p := range all {
		visible, _, err := seen(ctx, r, p.Touched)
		if err != nil {
			return nil, err
		}
		if p.AuthorID == me(r) || len(visible) > 0 {
			page.Data = append(page.Data, p)
		}
	}
	return feature.OK(page), nil
}

func get(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	return show(ctx, r, id, http.StatusOK)
}

// show responds with a proposal.
func show(ctx context.Context, r *feature.Request, id string, status int) (*feature.Response, error) {
	a, _, err := read(ctx, r, id)
	if err != nil {
		return nil, err
	}
	return &feature.Response{Status: status, Body: *a}, nil
}

// read returns a proposal as the sender sees it. It is absent for who sees none of its changes, except its author.
func read(ctx context.Context, r *feature.Request, id string) (*answer, *Content, error) {
	from := records.Fresh(r.Inventory.Engine().Store())
	p, err := records.Get[Proposal](ctx, from, id)
	if err != nil {
		return nil, nil, err
	}
	c, err := records.First[Content](ctx, from, "proposal_id", id)
	if err != nil || c == nil {
		return nil, nil, errors.Join(err, records.Absent(records.Of[Proposal](from.Schema())))
	}
	visible, items, err := seen(ctx, r, c.Items)
	if err != nil {
		return nil, nil, err
	}
	a := &answer{Proposal: *p, Own: p.AuthorID == me(r), Hidden: len(visible) < len(items), Changes: feature.Changes(visible), Conflicts: []conflict{}}
	if len(visible) == 0 && !a.Own {
		return nil, nil, records.Absent(records.Of[Proposal](from.Schema()))
	}
	if p.Status != open {
		return a, c, nil
	}
	a.Decidable = !a.Own && !a.Hidden
	versions := map[string]int64{}
	for _, it := range items {
		if of := from.Schema().OfKind(it.ResourceType); it.Cause == "" && of != nil {
			versions[it.ResourceID] = it.Version
			does := map[string]records.Routes{"create": records.RouteCreate, "update": records.RouteChange, "delete": records.RouteDelete}[it.Action]
			a.Decidable = a.Decidable && r.Inventory.May(of, does) == nil
		}
	}
	a.Conflicts, err = conflicts(ctx, r, visible, versions)
	return a, c, err
}

// conflicts returns the records whose versions are others than those that changes were made from, as far as the sender sees them.
func conflicts(ctx context.Context, r *feature.Request, visible []*records.AuditLog, versions map[string]int64) ([]conflict, error) {
	from, all := records.Fresh(r.Inventory.Records()), []conflict{}
	for _, e := range visible {
		of, version := from.Schema().OfKind(e.ResourceType), versions[e.ResourceID]
		if versions[e.ResourceID] = 0; of == nil || version == 0 {
			continue
		}
		rec, err := from.Get(ctx, of, e.ResourceID)
		c := conflict{e.ResourceType, e.ResourceID, []moved{}}
		switch {
		case records.KindOf(err) == records.NotFound:
		case err != nil:
			return nil, err
		case rec.Meta().Version == version:
			continue
		default:
			now := &records.AuditLog{ResourceType: e.ResourceType, Changes: of.Diff(nil, rec)}
			if err := records.MaskChanges(ctx, r.Inventory.Records(), now); err != nil {
				return nil, err
			}
			for _, name := range slices.Sorted(maps.Keys(e.Changes)) {
				c.Fields = append(c.Fields, moved{name, e.Changes[name].Before, now.Changes[name].After, e.Changes[name].After})
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// text returns a value as JSON.
func text(v any) string {
	doc, _ := json.Marshal(v) // of values of records, which can be encoded
	return string(doc)
}

// errMoved says that a request would make other changes than those that were proposed.
var errMoved = httpx.Errorf(http.StatusConflict, "Nothing was changed: the request would make other changes now than those that were proposed: propose it again")

// moving returns the error for conflicts, nil without any.
func moving(all []conflict) error {
	if len(all) == 0 {
		return nil
	}
	e := &httpx.Error{Status: http.StatusConflict, Message: fmt.Sprintf("Nothing was changed: %d of the records have changed since this was proposed: propose it again", len(all))}
	for i, c := range all {
		item := httpx.ItemError{Index: i, ID: c.ResourceID, Code: "conflict", Message: "The " + c.ResourceType + " has changed since this was proposed, or does not exist any more"}
		for _, f := range c.Fields {
			item.Errors = append(item.Errors, httpx.FieldError{Field: f.Field, Code: "conflict", Reason: fmt.Sprintf("was %s when it was proposed, is %s now, and would become %s", text(f.Before), text(f.Now), text(f.After))})
		}
		e.Items = append(e.Items, item)
	}
	return e
}

// closed returns the error for a proposal that is decided, nil for an open one.
func closed(p *Proposal) error {
	if p.Status == open {
		return nil
	}
	return &records.Error{Kind: records.Conflict, Message: "The proposal was " + p.Status + " before, by " + p.DecidedBy}
}

// decide sets what has become of a proposal, in a transaction without a limit of places.
func decide(ctx context.Context, r *feature.Request, v *records.Engine, id, action, reason, to string) error {
	by := r.Inventory.Sender()
	_, err := v.Update(ctx, by, records.Of[Proposal](v.Store().Schema()), records.Edit{ID: id, Action: action, Apply: func(rec records.Record) error {
		p, at := rec.(*Proposal), v.Now().UTC()
		if err := closed(p); err != nil {
			return err
		}
		p.Status, p.DecidedAt, p.DecidedBy, p.Reason = to, &at, printable.Prefix(by.Name, maxName), reason
		return nil
	}})
	return err
}

// apply makes the changes of a proposal. Of two users who apply it at once, one changes its state first, and the transaction of
// the other one fails.
func apply(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	a, c, err := read(ctx, r, id)
	switch {
	case err != nil:
		return nil, err
	case closed(&a.Proposal) != nil:
		return nil, closed(&a.Proposal)
	case a.Own:
		return nil, httpx.Errorf(http.StatusForbidden, "Another user has to apply your proposal")
	}
	sent := &feature.Sent{}
	if err := errors.Join(moving(a.Conflicts), json.Unmarshal([]byte(c.Request), sent)); err != nil {
		return nil, err
	}
	res, err := r.Inventory.Repeat(ctx, sent, cmp.Or(a.Author, a.AuthorID), !r.DryRun, func(ctx context.Context, in *records.Engine, now *records.Preview) error {
		if now.Sum(in.Store().Schema()) != c.Sum {
			return errMoved
		}
		return decide(ctx, r, in, id, "apply", "", applied)
	})
	if res == nil && err == nil {
		return show(ctx, r, id, http.StatusOK)
	}
	if again, _, failed := read(ctx, r, id); failed == nil && moving(again.Conflicts) != nil {
		return nil, moving(again.Conflicts) // which have come in between
	}
	return res, err
}

// refuse refuses a proposal, or withdraws it.
func refuse(ctx context.Context, r *feature.Request, sent struct {
	Reason string `json:"reason"`
},
) (*feature.Response, error) {
	id := strings.ToLower(r.HTTP.PathValue("id"))
	a, _, err := read(ctx, r, id)
	if err != nil {
		return nil, err
	}
	to, action, reason := refused, "refuse", strings.TrimSpace(sent.Reason)
	switch {
	case a.Own:
		to, action = withdrawn, "withdraw"
	case a.Status == open && !a.Decidable:
		return nil, records.PermissionDenied()
	case reason == "":
		return nil, records.Refuse("reason", records.Missing("say why"))
	}
	_, err = r.Inventory.Change(ctx, func(ctx context.Context, tx *feature.Transaction) error {
		return decide(ctx, r, tx.Engine.LimitTo(nil), id, action, reason, to)
	})
	if err != nil {
		return nil, err
	}
	return show(ctx, r, id, http.StatusOK)
}

//go:embed templates/*.html
var files embed.FS

// pages returns the list of proposals, the page of each, and the template "propose" of forms that can be proposed.
func pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /proposals", Handle: showList},
		{Pattern: "GET /proposals/{id}", Handle: func(q *site.Request) error { return showOne(q, http.StatusOK, nil) }},
		{Pattern: "POST /proposals/{id}/{do}", Handle: press},
	}, Entries: []site.Entry{{Label: "Proposals", Path: "/proposals", Icon: "check", Group: "Administration", Order: 850, Show: func(*site.Request) bool { return true }}}}
}

// showList shows the proposals, open ones first.
func showList(q *site.Request) error {
	status, query := cmp.Or(q.R.URL.Query().Get("status"), open), url.Values{}
	if status != "all" {
		query.Set("status", status)
	}
	var page struct{ Data []site.Record }
	if err := q.Get("/proposals", query, &page); err != nil {
		return err
	}
	return q.Page("proposals.html", "Proposals", map[string]any{"Status": status, "Data": page.Data})
}

// shown is a proposal on its page.
type shown struct {
	answer
	Created      string                `json:"created_at"`
	Decided      string                `json:"decided_at"`
	Changes      []site.Change         `json:"changes"`
	Diff         site.Changes          `json:"-"`
	Was, Becomes []*site.ChangedRecord `json:"-"` // of the conflicts
	Fault        *site.Fault           `json:"-"` // why it was not decided
	Do           string                `json:"-"` // the address of the forms
}

// showOne shows a proposal, and why it was not decided.
func showOne(q *site.Request, status int, refused *site.Fault) error {
	path := "/proposals/" + url.PathEscape(q.R.PathValue("id"))
	p := &shown{Fault: refused, Do: q.UI.URL(path)}
	if err := q.Get(path, nil, p); err != nil {
		return err
	}
	was, becomes := make([]site.Change, len(p.Conflicts)), make([]site.Change, len(p.Conflicts))
	for i, c := range p.Conflicts {
		was[i] = site.Change{Kind: c.ResourceType, ID: c.ResourceID, Changes: map[string]site.Delta{}}
		becomes[i] = site.Change{Kind: c.ResourceType, ID: c.ResourceID, Changes: map[string]site.Delta{}}
		for _, f := range c.Fields {
			was[i].Changes[f.Field], becomes[i].Changes[f.Field] = site.Delta{Before: f.Before, After: f.Now}, site.Delta{After: f.After}
		}
	}
	before, err := q.DescribeChanges(was)
	after, failed := q.DescribeChanges(becomes)
	p.Was, p.Becomes = before.Changed, after.Changed
	if err = errors.Join(err, failed); err == nil {
		p.Diff, err = q.DescribeChanges(p.Changes)
	}
	if err != nil {
		return err
	}
	return q.PageStatus(status, "proposal.html", "Proposal", p)
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
