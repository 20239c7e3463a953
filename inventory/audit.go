package inventory

import "maps"

// AuditLog is the entry for one change, or for one event of somebody's account. It is
// written in the transaction of the change, and never changed.
type AuditLog struct {
	Base
	UserID       *string `json:"user_id" field:"readonly,ref=users:null"`
	Actor        string  `json:"actor" field:"readonly,max=100,search"`         // the name, which stays when the user goes
	Action       string  `json:"action" field:"readonly,max=50,counted"`        // such as create, update, delete, login
	ResourceType string  `json:"resource_type" field:"readonly,max=50,counted"` // such as device
	ResourceID   string  `json:"resource_id" field:"readonly,max=100,index"`
	IPAddress    string  `json:"ip_address" field:"readonly,max=64"`
	RequestID    string  `json:"request_id" field:"readonly,max=128"`
	Changes      Changes `json:"changes" field:"readonly"`
}

// Changes are the fields that a change has changed, by their names in JSON. Secrets are
// not among them.
type Changes map[string]Change

// Change is a field before and after: a value of a [Field], a list of texts, or nil.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

func (c Changes) clone() Changes { return maps.Clone(c) }

func auditLogs() *Resource {
	return describe[AuditLog](definition{name: "audit-logs", label: "Audit log", read: roles(Admin), write: roles()})
}
