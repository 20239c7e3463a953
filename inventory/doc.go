// Package inventory is the domain of a network inventory: devices, their interfaces,
// locations, VLANs, links, events, metrics, users, and the audit log of all changes. It
// depends on no database and no transport. REFERENCE.md describes its rules.
//
//	v := inventory.New(inventory.NewMemStore(), nil)
//	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
//	err := v.Create(ctx, inventory.Caller{Name: "jane"}, site)
//
// # Records and resources
//
// A record is a plain struct such as [Device]. Its [Resource] describes each field: JSON
// name, column, values, and whether it is required, unique, a reference, for admins only, or
// searched. Columns, filters, sort fields, validation, routes and the OpenAPI document are
// derived from that description, so they can't disagree.
//
// A field is one line of the struct:
//
//	SerialNumber string `json:"serial_number" field:"unique,max=100,search"`
//
// The Go type determines the kind; a pointer makes the field nullable. An enumeration is a
// string type with a method Values ([Enum]). The tag has these words, separated by commas:
//
//	required       must have a value
//	oncreate       must have a value in a new record
//	unique         unique among the records
//	unique=f       unique together with the field f
//	min=n, max=n   bounds of a number, of the characters of a string, or of the elements of a list
//	default=s      the value of an empty string
//	format=f       the format of a string: text (any number of lines), uuid, ip, cidr,
//	               interface-ip (an address with or without a prefix length), mac, email,
//	               timezone or speed; the default is one line
//	ref=r:null     the id of a record of r; becomes null when that record is deleted
//	ref=r:cascade  the id of a record of r; this record is deleted with it
//	readonly       set by the inventory
//	admin          set by admins only
//	search         searched by q
//	index          often filtered or sorted by: databases index it
//	counted        often counted, with few values: databases maintain the number per value
//	secret         accepted from clients, never stored or shown
//	hidden         stored, never shown; needs column=name
//
// # Changes
//
// [Inventory] validates records with [Check] and [CheckNew], applies changes, and writes an
// [AuditLog] entry for each in the same transaction. A partial update is a [Patch], a full
// one a [Replacement]. Several changes in one call are applied atomically.
//
// # Lists
//
// [ParseQuery] parses the parameters of a list:
//
//	q, err := inventory.ParseQuery(inventory.Of[inventory.Device](), r.URL.Query())
//	if err != nil {
//		return err // names the parameters and says what is expected
//	}
//	page, err := store.List(ctx, q)
//
// [Query.Matches] and [Query.Compare] define filters and order for every [Store].
// [Query.Cursor] continues a list in any order.
//
// # Errors
//
// An [Error] has a kind for programs, a message that is safe to show, and the invalid fields
// and failed items. Any other error is a failure of the store.
//
// # Design notes
//
// The description is in struct tags, not in a table beside the structs: a field would have
// two definitions that can disagree. With a table alone, records would be maps, and programs
// that use the package would lose their types. The tags are read once; an invalid one panics
// when the program starts.
//
// Validation uses the same description instead of the tags of a validation library: bounds
// and formats must also be in the OpenAPI document, and filters need the formats.
//
// The internal records [IdempotencyRecord] and [Secret] are records like the others, so that
// every store supports them, in the transaction of the change that they belong to
// ([Inventory.BeforeCommit]).
//
// [Store] and [Tx] are generic by taking the [Resource] as a value; an interface per resource
// would repeat the same methods. The audit log is a resource like any other, so writing it in
// the transaction of a change needs no method of its own.
//
// An empty string is no value: null and "" would be two ways to say the same. References,
// numbers and times that may be missing are pointers, and null in JSON.
//
// A record without a value in a field of a unique key has no such key: any number of devices
// may lack a serial number, and VLANs without a location may share a number.
//
// A link has no direction, so its ends are ordered; otherwise the same cable could be
// recorded twice, once from each end.
//
// Strings are compared byte by byte, and substrings with ASCII case folding. Every database
// does this in the same way, whatever its locale; Unicode folding would need extra columns.
//
// The time zone of a location is checked in form only, because the known zones depend on the
// machine.
//
// [User] has no flag for multi-factor authentication: a flag without an effect would promise
// protection that does not exist.
package inventory
