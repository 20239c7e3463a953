package manifest

import "github.com/ashlar-go/ashlar/internal/grammar"

// Publisher metadata is in _meta under one of these keys: that of the specification, and
// that of the public format.
const (
	NeutralPublisherKey = "io.neutral.registry/publisher-provided"
	PublisherKey        = "io.modelcontextprotocol.registry/publisher-provided"
)

// ArgumentType distinguishes the two kinds of arguments.
type ArgumentType string

// The kinds of arguments.
const (
	PositionalArgument ArgumentType = "positional"
	NamedArgument      ArgumentType = "named"
)

// TransportType distinguishes the kinds of transports.
type TransportType string

// The kinds of transports. A remote is never Stdio.
const (
	Stdio          TransportType = "stdio"
	StreamableHTTP TransportType = "streamable-http"
	SSE            TransportType = "sse"
)

// The well-known values of registryType.
const (
	NPM   = "npm"   // a JavaScript package
	PyPI  = "pypi"  // a Python package
	OCI   = "oci"   // a container image
	NuGet = "nuget" // a .NET package
	Cargo = "cargo" // a Rust crate
	MCPB  = "mcpb"  // a bundle file
)

// RegistryTypes returns the well-known values of registryType.
func RegistryTypes() []string { return grammar.RegistryTypes() }

// The formats of an input. No format means FormatString.
const (
	FormatString   = "string"
	FormatNumber   = "number"   // a JSON number
	FormatBoolean  = "boolean"  // true or false
	FormatFilepath = "filepath" // a path on the user's machine
)

// The types below hold any values of the right JSON type; see [Validate] for the rules.
// Optional fields are nil if absent: pointers, and slices, which are empty and not nil
// for []. Extra holds the unknown keys, so that reading and writing a document keeps
// them.
//
// Their JSON methods compare keys exactly, reject null, and write the known keys in the
// order of the fields and then the unknown ones in the order of the document. The tag
// "only" names the type to which a key belongs; in objects of other types it is unknown.

// Server is a manifest: what a tool server is and how to install or reach it.
type Server struct {
	Schema      *string     `json:"$schema,omitzero"` // URI of a dated schema
	Name        string      `json:"name"`             // namespace/name, 3 to 200 characters
	Title       *string     `json:"title,omitzero"`   // 1 to 100 characters
	Description string      `json:"description"`      // 1 to 100 characters
	Version     string      `json:"version"`          // a specific version, at most 255 characters
	WebsiteURL  *string     `json:"websiteUrl,omitzero"`
	Icons       []Icon      `json:"icons,omitzero"`
	Repository  *Repository `json:"repository,omitzero"`
	Packages    []Package   `json:"packages,omitzero"`
	Remotes     []Remote    `json:"remotes,omitzero"`
	Meta        []Field     `json:"_meta,omitzero"` // the members of an object
	Extra       []Field     `json:"-"`
}

// Icon is a picture of the server. SVG may contain executable script.
type Icon struct {
	Src      string   `json:"src"`               // an https URI, at most 255 characters
	MIMEType *string  `json:"mimeType,omitzero"` // image/png, jpeg, jpg, svg+xml or webp
	Sizes    []string `json:"sizes,omitzero"`    // "48x48" or "any"
	Theme    *string  `json:"theme,omitzero"`    // light or dark
	Extra    []Field  `json:"-"`
}

// Repository is the location of the source code.
type Repository struct {
	URL       string  `json:"url"`
	Source    string  `json:"source"` // identifies the hosting service
	ID        *string `json:"id,omitzero"`
	Subfolder *string `json:"subfolder,omitzero"` // a clean relative path
	Extra     []Field `json:"-"`
}

// Package is one way to install and launch the server.
type Package struct {
	RegistryType         string          `json:"registryType"` // [NPM], [PyPI] and others
	RegistryBaseURL      *string         `json:"registryBaseUrl,omitzero"`
	Identifier           string          `json:"identifier"`          // a name, or a URL to download
	Version              *string         `json:"version,omitzero"`    // a specific version, never latest
	FileSHA256           *string         `json:"fileSha256,omitzero"` // 64 lowercase hexadecimal characters
	RuntimeHint          *string         `json:"runtimeHint,omitzero"`
	Transport            Transport       `json:"transport"`
	RuntimeArguments     []Argument      `json:"runtimeArguments,omitzero"`
	PackageArguments     []Argument      `json:"packageArguments,omitzero"`
	EnvironmentVariables []KeyValueInput `json:"environmentVariables,omitzero"`
	Extra                []Field         `json:"-"`
}

// Transport describes the connection to the server of a package.
type Transport struct {
	Type TransportType `json:"type"`
	// URL is a template whose variables are the names of arguments and environment
	// variables of the package. Stdio has no URL and no Headers.
	URL     string          `json:"url" only:"!stdio"`
	Headers []KeyValueInput `json:"headers,omitzero" only:"!stdio"`
	Extra   []Field         `json:"-"`
}

// Remote is an endpoint of a server that runs elsewhere.
type Remote struct {
	Type      TransportType   `json:"type"` // StreamableHTTP or SSE
	URL       string          `json:"url"`  // a template over Variables
	Headers   []KeyValueInput `json:"headers,omitzero"`
	Variables []Variable      `json:"variables,omitzero"` // the members of an object
	Extra     []Field         `json:"-"`
}

// Input is a value that a user provides, or a fixed value.
type Input struct {
	Description *string `json:"description,omitzero"`
	IsRequired  *bool   `json:"isRequired,omitzero"` // nil means false
	// Format is FormatString, FormatNumber, FormatBoolean or FormatFilepath. nil means
	// FormatString.
	Format *string `json:"format,omitzero"`
	// Value is fixed: users cannot change it. Its {name} tokens refer to variables.
	Value       *string  `json:"value,omitzero"`
	IsSecret    *bool    `json:"isSecret,omitzero"` // nil means false
	Default     *string  `json:"default,omitzero"`
	Placeholder *string  `json:"placeholder,omitzero"` // guidance for users, never a value
	Choices     []string `json:"choices,omitzero"`
	Extra       []Field  `json:"-"`
}

// Variable is an input with the name by which tokens refer to it.
type Variable struct {
	Name  string
	Input Input
}

// KeyValueInput is an environment variable or a header.
type KeyValueInput struct {
	Name string `json:"name"`
	Input
	Variables []Variable `json:"variables,omitzero"` // the members of an object
}

// Argument is an argument of a command line.
type Argument struct {
	Type ArgumentType `json:"type"`
	// Name is the flag of a NamedArgument, with its dashes.
	Name string `json:"name" only:"named"`
	// ValueHint is the label of a PositionalArgument.
	ValueHint  *string `json:"valueHint,omitzero" only:"positional"`
	IsRepeated *bool   `json:"isRepeated,omitzero"` // nil means false
	Input
	Variables []Variable `json:"variables,omitzero"` // the members of an object
}

// Field is a key with the text of its value.
type Field struct {
	Name  string
	Value Raw
}

// Raw is the text of one JSON value.
type Raw string

// File is a file to download and verify.
type File struct {
	URL string `json:"url"`
	// SHA256 is 64 lowercase hexadecimal characters. A file with another one must not be
	// used; package cmd/manifest/internal/fetch checks it.
	SHA256 string `json:"sha256"`
	// Origin is the JSON pointer of the value in the manifest that names the file.
	Origin string `json:"origin,omitempty"`
}
