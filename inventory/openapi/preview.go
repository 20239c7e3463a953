package openapi

import "github.com/ashlar-go/ashlar/inventory/records"

// PreviewType is the content type of a [Preview].
const PreviewType = "application/vnd.ashlar.preview+json"

// Preview returns the body of the response to a dry run.
func Preview() *Schema {
	changes := kind(&records.Field{Kind: records.Object})
	change := Object("PreviewChange",
		Required("action", String("As in the audit log.")),
		Required("resource_type", String("As in the audit log.")),
		Required("resource_id", String("The id of the record. Empty for a new one.")),
		Required("changes", changes),
		Required("cause", String("The type and id of the record whose deletion changes or deletes this one, with a slash in between. Empty for a change that was requested.")))
	return Object("Preview",
		Required("status", Const("dry_run")),
		Required("message", String("What would change, in words.")),
		Required("created", Integer("The number of records that would be created.", 0)),
		Required("updated", Integer("The number of records that would be changed.", 0)),
		Required("deleted", Integer("The number of records that would be deleted.", 0)),
		Required("changes", Array(change, 0, records.MaxPreview)),
		Required("truncated", Boolean("Whether there are changes that are not listed.")))
}
