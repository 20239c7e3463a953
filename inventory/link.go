package inventory

import "time"

// Link is a cable, or what else joins two interfaces. It has no direction: the end with
// the lower id is always A, so that two interfaces have one link at most.
type Link struct {
	Base
	AInterfaceID string     `json:"a_interface_id" field:"required,ref=interfaces:cascade"`
	BInterfaceID string     `json:"b_interface_id" field:"required,unique=a_interface_id,ref=interfaces:cascade"`
	Type         string     `json:"type" field:"max=50,counted"`
	Status       LinkStatus `json:"status" field:"default=up,counted"`
	Discovery    string     `json:"discovery" field:"default=manual,max=50,counted"` // such as manual, lldp or cdp
	LastSeen     *time.Time `json:"last_seen"`
}

// sameInterface is what is wrong with a link that goes nowhere.
const sameInterface = "must not be the interface of a_interface_id"

func links() *Resource {
	return describe[Link](definition{
		name: "links", label: "Link", write: roles(Admin, Editor),
		messages: map[string]string{"b_interface_id": "Link between these interfaces already exists"},
	})
}

// tidy puts the ends in their order.
func (l *Link) tidy() {
	if l.BInterfaceID < l.AInterfaceID && l.BInterfaceID != "" {
		l.AInterfaceID, l.BInterfaceID = l.BInterfaceID, l.AInterfaceID
	}
}

// check says whether there are two ends.
func (l *Link) check() []FieldError {
	if l.AInterfaceID != "" && l.AInterfaceID == l.BInterfaceID {
		return []FieldError{{"b_interface_id", sameInterface}}
	}
	return nil
}
