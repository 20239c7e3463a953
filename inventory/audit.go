package inventory

import "maps"

// AuditLog is the entry for a change of a record or for an event of an account, such as a
// login. It is written in the transaction of the change and never changes.
type AuditLog struct {
	Base
	UserID       *string `json:"user_id" field:"readonly,ref=users:null"`
	Actor        string  `json:"actor" field:"readonly,max=100,search"`         // the user name, kept when the user is deleted
	Action       string  `json:"action" field:"readonly,max=50,counted"`        // such as create, update, delete or login
	ResourceType string  `json:"resource_type" field:"readonly,max=50,counted"` // such as device
	ResourceID   string  `json:"resource_id" field:"readonly,max=100,index"`
	IPAddress    string  `json:"ip_address" field:"readonly,max=64"`
	RequestID    string  `json:"request_id" field:"readonly,max=128"`
	Changes      Changes `json:"changes" field:"readonly"`
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

func auditLogs() *Resource {
	return describe[AuditLog](definition{name: "audit-logs", label: "Audit log"})
}

// Diff returns the fields that differ between two records of one type, except hidden and
// secret fields and those of [Base]. A nil record has no values: the state before a record
// is created and after it is deleted.
func Diff(before, after Record) Changes {
	r := ResourceOf(before)
	if r == nil {
		r = ResourceOf(after)
	}
	if r == nil {
		return nil
	}
	changes := Changes{}
	for _, f := range r.fields {
		inBase := len(f.index) > 1
		if f.Hidden || f.WriteOnly || inBase {
			continue
		}
		old, now := f.valueOrNil(before), f.valueOrNil(after)
		if !f.same(old, now) {
			changes[f.Name] = Change{old, now}
		}
	}
	return changes
}
