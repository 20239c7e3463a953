package manifest

// Publisher metadata stands in _meta under one of these keys: that of the
// specification, and that of the public format it is a neutral form of.
const (
	NeutralPublisherKey = "io.neutral.registry/publisher-provided"
	PublisherKey        = "io.modelcontextprotocol.registry/publisher-provided"
)

// ArgumentType tells the two kinds of arguments apart.
type ArgumentType string

// The kinds of arguments.
const (
	PositionalArgument ArgumentType = "positional"
	NamedArgument      ArgumentType = "named"
)

// TransportType tells the kinds of transports apart.
type TransportType string

// The kinds of transports. A remote is never Stdio.
const (
	Stdio          TransportType = "stdio"
	StreamableHTTP TransportType = "streamable-http"
	SSE            TransportType = "sse"
)

// The types below follow the specification, "Resources and their fields". What is
// optional is nil if it is absent: a pointer, or a slice, which is empty and not
// nil for []. Extra holds the keys that the specification does not know, so that
// reading a document and writing it loses nothing. Which values are right is not
// the types' business: see [Validate].
//
// They read and write JSON by methods of their own: keys are compared exactly,
// null is refused, and known keys are written in the order of the fields, then
// the others in the order of the document.

// Server is a manifest, the specification's ServerDetail: what one tool server is
// and how it is installed or reached.
type Server struct {
	Schema      *string     `json:"$schema,omitzero"` // URI of a dated schema
	Name        string      `json:"name"`             // namespace/name, 3 to 200 characters
	Title       *string     `json:"title,omitzero"`   // 1 to 100 characters
	Description string      `json:"description"`      // 1 to 100 characters
	Version     string      `json:"version"`          // a specific one, at most 255 characters
	WebsiteURL  *string     `json:"websiteUrl,omitzero"`
	Icons       []Icon      `json:"icons,omitzero"`
	Repository  *Repository `json:"repository,omitzero"`
	Packages    []Package   `json:"packages,omitzero"`
	Remotes     []Remote    `json:"remotes,omitzero"`
	// Meta is the object _meta, each member as it stands; nil if it is absent.
	Meta  []Field `json:"-"`
	Extra []Field `json:"-"`
}

// Icon is a picture of the server. SVG may hold executable script.
type Icon struct {
	Src      string   `json:"src"`               // an https URI, at most 255 characters
	MIMEType *string  `json:"mimeType,omitzero"` // one of five
	Sizes    []string `json:"sizes,omitzero"`    // "48x48" or "any"
	Theme    *string  `json:"theme,omitzero"`    // light or dark
	Extra    []Field  `json:"-"`
}

// Repository is where the source is.
type Repository struct {
	URL       string  `json:"url"`
	Source    string  `json:"source"` // identifies the hosting service
	ID        *string `json:"id,omitzero"`
	Subfolder *string `json:"subfolder,omitzero"` // a clean relative path
	Extra     []Field `json:"-"`
}

// Package is one way to install and launch the server.
type Package struct {
	RegistryType         string          `json:"registryType"`
	RegistryBaseURL      *string         `json:"registryBaseUrl,omitzero"`
	Identifier           string          `json:"identifier"`          // a name, or a URL to download
	Version              *string         `json:"version,omitzero"`    // a specific one, never latest
	FileSHA256           *string         `json:"fileSha256,omitzero"` // 64 lowercase hexadecimal characters
	RuntimeHint          *string         `json:"runtimeHint,omitzero"`
	Transport            Transport       `json:"transport"`
	RuntimeArguments     []Argument      `json:"runtimeArguments,omitzero"`
	PackageArguments     []Argument      `json:"packageArguments,omitzero"`
	EnvironmentVariables []KeyValueInput `json:"environmentVariables,omitzero"`
	Extra                []Field         `json:"-"`
}

// Transport is how the server in a package is talked to.
type Transport struct {
	Type TransportType `json:"type"`
	// URL is a template whose variables are named by arguments and environment
	// variables of the package. It is not written for Stdio, which has none.
	URL string `json:"url,omitzero"`
	// Headers are nil for Stdio. What a document has there is in Extra.
	Headers []KeyValueInput `json:"headers,omitzero"`
	Extra   []Field         `json:"-"`
}

// Remote is an endpoint at which the server can be reached.
type Remote struct {
	Type    TransportType   `json:"type"` // StreamableHTTP or SSE
	URL     string          `json:"url"`  // a template over Variables
	Headers []KeyValueInput `json:"headers,omitzero"`
	// Variables in the order of the document.
	Variables []Variable `json:"-"`
	Extra     []Field    `json:"-"`
}

// Input is a value that a user gives, or that is fixed.
type Input struct {
	Description *string `json:"description,omitzero"`
	IsRequired  *bool   `json:"isRequired,omitzero"` // nil is false
	// Format is string, number, boolean or filepath; nil is string.
	Format *string `json:"format,omitzero"`
	// Value is not for users to configure. Its {name} tokens stand for variables.
	Value       *string  `json:"value,omitzero"`
	IsSecret    *bool    `json:"isSecret,omitzero"` // nil is false
	Default     *string  `json:"default,omitzero"`
	Placeholder *string  `json:"placeholder,omitzero"` // guidance, never a value
	Choices     []string `json:"choices,omitzero"`
	Extra       []Field  `json:"-"`
}

// Variable is an input by the name that tokens refer to it with.
type Variable struct {
	Name  string
	Input Input
}

// KeyValueInput is an environment variable or a header.
type KeyValueInput struct {
	Name string `json:"name"`
	Input
	// Variables in the order of the document.
	Variables []Variable `json:"-"`
}

// Argument is an argument of a command line, of one of two kinds.
type Argument struct {
	Type ArgumentType `json:"type"`
	// Name is the flag of a NamedArgument with its dashes. A positional one has
	// none; what a document has there is in Extra.
	Name string `json:"name,omitzero"`
	// ValueHint labels a PositionalArgument. A named one has none.
	ValueHint  *string `json:"valueHint,omitzero"`
	IsRepeated *bool   `json:"isRepeated,omitzero"` // nil is false
	Input
	// Variables in the order of the document.
	Variables []Variable `json:"-"`
}

// Field is a key with a value as it stands in a document.
type Field struct {
	Name  string
	Value Raw
}

// Raw is the text of one JSON value.
type Raw string
