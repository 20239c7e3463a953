package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Import says what the rows of an import are, and what they do (REFERENCE.md, 2.15).
type Import struct {
	Format   string // "csv", "jsonl" or "yaml"; required
	Resource string // of the rows, such as devices; "" if each row has it as _resource
	Skip     bool   // apply the other rows if some are wrong; else nothing is changed then
	Reject   bool   // a row for a record that exists is wrong; else it changes the record
	Prune    bool   // delete the records of the resources of the rows that no row is for
	DryRun   bool   // change nothing, and report the changes
	Propose  string // a comment: change nothing, and store a proposal, whose id the report has
}

// Report says what an import has done.
type Report struct {
	ID string // of a proposal

	Rows, Created, Updated, Unchanged, Deleted, Rejected int

	Problems     []Problem // of rejected rows, up to 1,000
	Truncated    bool      // whether there are more problems, or changes
	RejectedRows string    `json:"rejected_rows"` // the rejected rows as a file, up to 1 MiB, to correct and send again
	Changes      []Change  // of a dry run, up to 1,000
}

// Problem says what is wrong with a row.
type Problem struct {
	Line   int    // from 1
	Column string // the field; empty for the whole row
	Value  string // of the field, up to 64 characters
	Reason string // what is wrong, and what would be right
}

// Change is a change that a dry run did not make.
type Change struct {
	Action       string          `json:"action"`        // create, update or delete
	ResourceType string          `json:"resource_type"` // such as device
	ResourceID   string          `json:"resource_id"`   // empty for a new record
	Changes      records.Changes `json:"changes"`       // the fields before and after
	Cause        string          `json:"cause"`         // the record whose deletion causes the change; empty for none
}

// Import creates and changes records by the rows of a file of up to 64 MiB. If rows are wrong and nothing was changed, the
// error is an [*Error] with Problems. An import that changes existing records is repeated like other requests, because the
// second time it changes nothing; one with Reject is not.
func (c *Client) Import(ctx context.Context, rows []byte, of *Import) (*Report, error) {
	of = cmp.Or(of, &Import{})
	kind, ok := map[string]string{"csv": "text/csv", "jsonl": "application/jsonl", "yaml": "application/yaml"}[of.Format]
	if !ok {
		return nil, fmt.Errorf("client: Import.Format is %q: use csv, jsonl or yaml", of.Format)
	}
	query := url.Values{}
	if of.Resource != "" {
		query.Set("resource", of.Resource)
	}
	for name, set := range map[string]struct {
		on    bool
		value string
	}{"on_error": {of.Skip, "skip"}, "existing": {of.Reject, "reject"}, "prune": {of.Prune, "true"}, "dry_run": {of.DryRun, "true"}, "propose": {of.Propose != "", of.Propose}} {
		if set.on {
			query.Set(name, set.value)
		}
	}
	report := &Report{}
	if rows == nil {
		rows = []byte{}
	}
	return report, c.do(ctx, &request{
		method: http.MethodPost, path: "/import", query: query, body: rows,
		header: http.Header{"Content-Type": {kind}}, repeatable: (!of.Reject || of.DryRun) && of.Propose == "",
	}, nil, report)
}
