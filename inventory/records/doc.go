// Package records is an engine for records of any schema: it validates and changes them, lists
// them by filters, and writes an audit log. It depends on no database and no transport.
// Package inventory is a schema of a network.
//
// # Records and resources
//
// A record is a plain struct that embeds [Base]. Its [Resource] describes each field: JSON
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
//	unique=f?      the same, and unique among the records without a value in f
//	min=n, max=n   bounds of a number, of the characters of a string, or of the elements of a list
//	default=s      the value of an empty string
//	format=f       the format of a string: text (any number of lines), uuid, ip, cidr,
//	               network (as cidr, in the order of addresses), interface-ip (an address with or
//	               without a prefix length), mac, email, timezone, speed, date or url; the default is
//	               one line
//	ref=r:null     the id of a record of r; becomes null when that record is deleted
//	ref=r:cascade  the id of a record of r; this record is deleted with it
//	ref=r:restrict the id of a record of r, which can't be deleted while this record refers to it
//	readonly       set by the engine
//	admin          set by admins only
//	search         searched by q
//	natural        lists are in the natural order of the values: eth2 before eth10
//	index          often filtered or sorted by: databases index it
//	counted        often counted, with few values: databases maintain the number per value
//	shared         many records share each of very many values, as interfaces do names: the index serves
//	               every order
//	scanned        of a log: the index of created_at has the values too, and filters read it
//	volatile       changes of it alone raise no version: for times such as that of the last login
//	open           programs may add values to the enumeration: databases do not check them
//	secret         accepted from clients, never stored or shown
//	hidden         stored, never shown; needs column=name
//	alias=a|b      what spreadsheets call the field: alias=serial|s/n
//	pattern=re     the regular expression (RE2) that the whole string must match; the last word
//
// A word that does not fit the Go type of its field is an error of [NewSchema], such as format=date for a time.
//
// A [Schema] is the resources of a store. Programs make one of parts:
//
//	schema, err := records.NewSchema(
//		records.Define[Rack](records.Definition{Name: "racks", Label: "Rack"}),
//		records.Extend("racks", "height", records.Int, "min=1,max=60"),
//	)
//
// A record may have hooks, which are methods of its type: [Initializer], [Normalizer], [Validator],
// [TxValidator], [Accompanied], [Occupant], [Patcher], [Completer], [Namesake] and [Declarer]. [NewSchema] refuses methods that look like
// a hook and are none.
//
// Records of other packages have hooks that a schema adds: [OnChange] in the transaction of each change, which it may
// refuse, and [AfterCommit] with what was committed. Their examples keep a device with a running contract, and post events.
//
// # Changes
//
// [Engine] validates records with [Resource.Check] and [Resource.CheckNew], applies changes, and
// writes an [AuditLog] entry for each in the same transaction. A partial update is a [Patch], a
// full one a [Resource.Replacement]. Several changes in one call, or several calls in [Engine.Together], are applied
// atomically, and the state in the end counts: two devices may swap their serial numbers or rack units, and a new one may
// have those of one that is deleted, in any order. Error.Holder is the other record of a conflict.
//
// # Lists
//
// [ParseQuery] parses the parameters of a list:
//
//	q, err := records.ParseQuery(records.Of[Rack](schema), r.URL.Query())
//	if err != nil {
//		return err // names the parameters and says what is expected
//	}
//	page, err := store.List(ctx, q)
//
// [Query.Matches] and [Query.Compare] define filters and order for every [Store].
// [Query.Cursor] continues a list in any order.
//
// [Get], [First], [Select] and [Count] read records of one type by conditions:
//
//	open, err := records.Count(ctx, store, q, "status", "open", "id", records.Condition{Op: records.In, Value: ids})
//
// # Errors
//
// An [Error] has a kind for programs, a message that is safe to show, and the invalid fields, each with a
// code for programs, and failed items. Any other error is a failure of the store. Hooks refuse values by
// [Refuse], [InField] or [InvalidFields] with errors such as those of [Missing], [OutOfRange] and [Wrong].
//
// # Design notes
//
// The description is in struct tags, not in a table beside the structs: a field would have
// two definitions that can disagree. With a table alone, records would be maps, and programs
// that use the package would lose their types. Fields that a program adds to somebody else's
// struct are in a map, because Go can't extend a struct.
//
// A schema is a value and not a registry: a program may have several, and a test its own.
// A change makes another schema, so that what began with one ends with it.
//
// Validation uses the same description instead of the tags of a validation library: bounds
// and formats must also be in the OpenAPI document, and filters need the formats.
//
// The internal [IdempotencyRecord] is a record like the others, so that every store supports
// it, in the transaction of the change that it belongs to ([Engine.BeforeCommit]).
//
// [Store] and [Tx] are generic by taking the [Resource] as a value; an interface per resource
// would repeat the same methods. The audit log is a resource like any other, so writing it in
// the transaction of a change needs no method of its own.
//
// An empty string is no value: null and "" would be two ways to say the same. References,
// numbers and times that may be missing are pointers, and null in JSON.
//
// A record without a value in a field of a unique key has no such key: any number of devices
// may lack a serial number, and VLANs without a location may share a number. With unique=f? they
// may not: devices without a location may not share a hostname, because nothing else would tell
// them apart. So a location can't be deleted while a device without a location has the hostname
// of one of its devices.
//
// Databases check unique keys with each statement; SQLite can't defer that. So a record that has what another one gets in a
// transaction with several changes leaves it at that moment ([Occupant]), and the change is made. A field of the key is
// cleared; a text that is required becomes one that nobody has, and a number or reference one that is unused, of up to 100
// that are tried. The later change of the record, or its deletion, starts from what it had. A record that is not
// changed gets it back in the end, and if it can't, the change that took it is refused ([Engine.Settle]). Changes without
// conflicts cost nothing more. To plan all changes of a transaction before the first was turned down: what an import
// changes depends on what it has created.
//
// Strings are compared byte by byte, and substrings with ASCII case folding. Every database
// does this in the same way, whatever its locale; Unicode folding would need extra columns.
package records
