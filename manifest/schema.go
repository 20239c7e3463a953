package manifest

import _ "embed" // the schema document

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft-07) of manifests, for editors and for
// validators of other languages. It says what a schema can say: of what [Validate]
// reports under [Neutral], the errors of [LayerSchema]. It wants format "uri" to be
// checked as RFC 3986 has it. The caller may change the bytes.
func Schema() []byte { return []byte(schema) }
