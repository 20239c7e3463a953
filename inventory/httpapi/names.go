package httpapi

import (
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// name is that of a record in the ids of operations: "Device", "AuditLog".
func name(r *inventory.Resource) string { return openapi.Name(r) }

func names(r *inventory.Resource) string { return name(r) + "s" }

// noun is what a record is called within a sentence: "device", "VLAN".
func noun(r *inventory.Resource) string {
	if label := r.Label(); label == strings.ToUpper(label) {
		return label
	}
	return strings.ToLower(r.Label())
}

func nouns(r *inventory.Resource) string { return noun(r) + "s" }
