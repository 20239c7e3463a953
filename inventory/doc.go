// Package inventory is the domain of a network inventory: devices, their interfaces,
// locations, VLANs, links, events, metrics, users, and the audit log of all that changes.
// It knows of no database and of no transport.
//
//	v := inventory.New(inventory.NewMemStore(), nil)
//	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
//	err := v.Create(ctx, inventory.Caller{Name: "jane"}, site)
//
// # Records and their descriptions
//
// A record is a plain struct such as [Device]. Its [Resource] describes it: the name, JSON
// name and column of each field, what values it may have, whether it is required, unique,
// a reference, for admins only, or looked into by a search. Columns, filters, sort
// fields, checks, routes and the OpenAPI document are all made from that, so that they
// can't disagree.
//
// A field is one line, in the struct:
//
//	SerialNumber string `json:"serial_number" field:"unique,max=100,search"`
//
// The Go type says the kind, and a pointer that null is a value. An enumeration is a
// string type with a method Values ([Enum]). The words of the tag are these, with commas
// between them:
//
//	required       must have a value
//	oncreate       must have one in a new record
//	unique         no two records have the same
//	unique=f       no two have the same together with the field f
//	min=n, max=n   bounds of a number; of the characters of a text; of the elements of a list
//	default=s      of a text without a value
//	format=f       of a text: text (any number of lines), uuid, ip, cidr, interface-ip (an
//	               address with or without a prefix length), mac, email, timezone, speed;
//	               without the word it is one line
//	ref=r:null     the id of a record of r; becomes null when that is deleted
//	ref=r:cascade  the record is deleted with it
//	readonly       set by the inventory
//	admin          set by admins only
//	search         looked into by q
//	index          often filtered or sorted by: a database has an index for it
//	counted        often counted, and of few values: a database keeps the count of each
//	secret         taken from clients, never kept or shown
//	hidden         kept, never shown; needs column=name
//
// # Changes
//
// [Inventory] is what may become of records: [Check] and [CheckNew] say what they must be,
// and every change has its [AuditLog] in the same transaction. A partial update is a
// [Patch], a whole one a [Replacement]. Several at once are made all or not at all.
//
// # Lists
//
// [ParseQuery] reads the parameters of a list, by the description:
//
//	q, err := inventory.ParseQuery(inventory.Of[inventory.Device](), r.URL.Query())
//	if err != nil {
//		return err // names the parameter, and says what would be right
//	}
//	page, err := store.List(ctx, q)
//
// [Query.Matches] and [Query.Compare] say what they mean, for any [Store] to keep to.
// [Query.Cursor] continues a list in any order.
//
// # Errors
//
// An [Error] has a kind for programs, a message that is safe to show, and what is wrong
// field by field and item by item. Anything else is a failure of the store.
//
// # Design notes
//
// The description is read from struct tags and not from a table beside the structs. With
// a table, a field would have two places that can disagree; with the table alone, records
// would be maps and programs that use the package would lose their types. The tags are
// read once, and a wrong one stops the first test.
//
// The checks are made from the same description and not from tags of a validation
// library: bounds and formats must be in the OpenAPI document too, the filters need the
// formats, and reasons must be sentences. Requests that are no records are for that
// library, above.
//
// What an inventory keeps for itself, a [IdempotencyRecord] or a [Secret], is a record like the
// others, so that every store keeps it, and in the transaction of the change that it is
// about ([Inventory.BeforeCommit]).
//
// There is one seam, [Store], with one transaction, [Tx], and both are generic by taking
// the [Resource] as a value. Nine interfaces for nine resources would be nine times
// the same. The audit log is a resource like any other, which is how it gets into the
// transaction of a change without a word of it in the seam.
//
// An empty text is no value: null and "" would be two ways to say the same, and a client
// of a spreadsheet can't tell them apart. References, numbers and times that may be
// missing are pointers, and null in JSON.
//
// A unique key with a part that has no value is no key. Any number of devices have no
// serial number, and VLANs that are at no location may share a number (reference 1.4).
//
// A link has no direction, so its ends are put in order; otherwise the same cable could
// be there twice, once from each end.
//
// speed and speed_mbps say the same, so the one that a client leaves out follows the
// other, also in a partial update.
//
// Texts are compared byte by byte, and folded for ASCII letters only where a part is
// looked for. That is what all databases do in the same way, whatever locale they were
// set up with; folding by Unicode would need columns for it.
//
// Texts of many lines (notes, messages) can be searched and not be sorted by.
//
// The time zone of a location is checked in form only, because which zones there are
// depends on the machine.
//
// There is no multi-factor flag in [User]: a flag that nothing acts on promises safety
// that is not there.
package inventory
