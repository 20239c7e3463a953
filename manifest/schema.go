package manifest

import _ "embed" // the schema document

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft-07) of manifests, for editors and for validators
// in other languages. It expresses the rules of [CategorySchema] under [Neutral] and
// needs a validator that checks format "uri" as defined by RFC 3986. The caller may
// modify the bytes.
func Schema() []byte { return []byte(schema) }
