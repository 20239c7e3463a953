package records

import "maps"

// AuditLog is the entry for a change of a record or for an event of an account, such as a
// login. It is written in the transaction of the change and never changes.
type AuditLog struct {
	Base
	UserID       *string `json:"user_id" field:"readonly,max=100,counted"`              // at the time of the change: the user may have been deleted since
	Actor        string  `json:"actor" field:"readonly,max=100,search,counted,scanned"` // the user name of that time
	Action       string  `json:"action" field:"readonly,max=50,counted,scanned"`        // such as create, update, delete or login
	ResourceType string  `json:"resource_type" field:"readonly,max=50,counted,scanned"` // such as device
	ResourceID   string  `json:"resource_id" field:"readonly,max=100,index"`
	IPAddress    string  `json:"ip_address" field:"readonly,max=64,scanned"`
	RequestID    string  `json:"request_id" field:"readonly,max=128,index"`
	Changes      Changes `json:"changes" field:"readonly"`
	// Cause is the record whose deletion changed or deleted this one, as in
	// "location/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f". Empty for a change that was requested.
	Cause string `json:"cause" field:"readonly,max=150"`
	// Places are the ids of the places that the record belonged to, separated by spaces: before the
	// change, and after a > those after it if they differ ([Places.Seen]). The digest has no part
	// of it.
	Places string `json:"-" field:"hidden,column=places,max=1000"`
}

// Changes are the changed fields of a record by their JSON names, without secrets.
type Changes map[string]Change

// Change is a field before and after a change: a value of a [Field], a list of strings, or
// nil.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

func (c Changes) clone() Changes { return maps.Clone(c) }

// builtIn returns the resources of every schema.
func builtIn() []Part {
	return []Part{
		Define[AuditLog](Definition{
			Name: auditLogs, Label: "Audit log", Description: "Who changed what.", Unaudited: true, Prunable: true, Order: []string{"id:desc"}, Routes: RoutesRead,
			Show:   Show{"Administration", 620, true, "history", []string{"created_at", "actor", "action", "resource_type", "resource_id", "ip_address", "cause"}},
			Access: Access{Read: Permission{Roles: []string{"admin"}}},
		}),
		Define[IdempotencyRecord](Definition{Name: "receipts", Label: "Idempotency record", Internal: true, Unaudited: true}),
	}
}

// auditLogs is the name of the audit log.
const auditLogs = "audit-logs"

// Diff returns the fields that differ between two records of the resource, except hidden and
// secret fields and those of [Base]. A nil record has no values: the state before a record
// is created and after it is deleted.
func (r *Resource) Diff(before, after Record) Changes {
	changes := Changes{}
	for _, f := range r.fields {
		if f.Hidden || f.WriteOnly || len(f.index) > 1 { // a field of Base
			continue
		}
		old, now := f.valueOrNil(before), f.valueOrNil(after)
		if !f.same(old, now) {
			changes[f.Name] = Change{old, now}
		}
	}
	return changes
}

// IdempotencyRecord is the stored response to a request with an Idempotency-Key, which
// repeated requests get again. It is not visible to clients.
type IdempotencyRecord struct {
	Base
	Owner    string `json:"owner" field:"required,max=200"` // who sent the request
	Key      string `json:"key" field:"required,unique=owner,max=255"`
	Request  string `json:"request" field:"required,max=100"` // a hash, to detect another request with the same key
	Status   int64  `json:"status"`
	Location string `json:"location" field:"max=500"`
	Body     string `json:"body" field:"format=text"`
}
