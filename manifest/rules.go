package manifest

import "slices"

// Rule is the stable id of a rule, for tools that filter problems.
type Rule string

// Layer is where a rule comes from.
type Layer string

// The layers. Syntax and Schema hold in every profile; what the Specification's
// text says beyond a schema is a warning under the dated schemas, which only
// describe it; Registry rules are those a public registry adds; Advice is about
// what is allowed and hardly meant.
const (
	LayerSyntax        Layer = "syntax"
	LayerSchema        Layer = "schema"
	LayerSpecification Layer = "specification"
	LayerRegistry      Layer = "registry"
	LayerAdvice        Layer = "advice"
)

// RuleInfo describes a rule.
type RuleInfo struct {
	Rule    Rule
	Layer   Layer
	Summary string // what has to hold, in one sentence
}

// Rules of the syntax.
const (
	RuleSyntax        Rule = "json-syntax"
	RuleEncoding      Rule = "json-encoding"
	RuleSurrogate     Rule = "json-surrogate"
	RuleByteOrderMark Rule = "json-byte-order-mark"
	RuleTrailing      Rule = "json-trailing-data"
	RuleDuplicateKey  Rule = "json-duplicate-key"
	RuleSize          Rule = "limit-size"
	RuleDepth         Rule = "limit-depth"
	RuleValues        Rule = "limit-values"
)

// Rules of the schema.
const (
	RuleType            Rule = "type"
	RuleRequired        Rule = "required"
	RuleLength          Rule = "length"
	RuleChoice          Rule = "choice"
	RuleURI             Rule = "uri"
	RuleName            Rule = "name-form"
	RuleIconSize        Rule = "icon-size"
	RuleSHA256          Rule = "sha256-form"
	RuleURLTemplate     Rule = "url-template"
	RulePackageLatest   Rule = "package-version-latest"
	RulePositionalValue Rule = "positional-value"
	RulePackageKey      Rule = "package-key"
)

// Rules of the specification's text.
const (
	RuleVersionRange Rule = "version-range"
	RuleIconHTTPS    Rule = "icon-https"
	RuleBundleSHA256 Rule = "bundle-sha256"
	RuleSubfolder    Rule = "subfolder-path"
)

// Advice.
const (
	RuleKeyCase         Rule = "key-case"
	RuleLatest          Rule = "version-latest"
	RulePlaceholder     Rule = "placeholder"
	RuleDefaultChoice   Rule = "default-not-a-choice"
	RuleDuplicateName   Rule = "duplicate-name"
	RuleUnknownVariable Rule = "unknown-variable"
	RuleLineBreak       Rule = "header-line-break"
	RuleLabelCase       Rule = "label-case"
	RuleDotSegment      Rule = "name-dots"
)

// Rules of a public registry.
const (
	RuleSchemaRequired   Rule = "schema-required"
	RuleSchemaUnknown    Rule = "schema-unknown"
	RuleSchemaDeprecated Rule = "schema-deprecated"
	RuleNameParts        Rule = "name-parts"
	RuleBlankTitle       Rule = "title-blank"
	RuleWebsiteHTTPS     Rule = "website-https"
	RuleRepositoryHost   Rule = "repository-host"
	RuleSubfolderChars   Rule = "subfolder-characters"
	RuleIdentifierSpace  Rule = "identifier-space"
	RuleFlagName         Rule = "flag-name"
	RuleFlagRepeated     Rule = "flag-in-value"
	RuleURLVariable      Rule = "url-variable"
	RuleURLHost          Rule = "url-host"
	RuleStdioURL         Rule = "stdio-url"
	RuleRemoteHost       Rule = "remote-host"
)

// Rules lists every rule that there is, by layer.
func Rules() []RuleInfo { return slices.Clone(ruleTable[:]) }

var ruleTable = [...]RuleInfo{
	{RuleSyntax, LayerSyntax, "The document is JSON as RFC 8259 defines it."},
	{RuleEncoding, LayerSyntax, "The document is UTF-8."},
	{RuleSurrogate, LayerSyntax, "Surrogates are escaped in pairs."},
	{RuleByteOrderMark, LayerSyntax, "The document does not begin with a byte order mark."},
	{RuleTrailing, LayerSyntax, "Nothing follows the document."},
	{RuleDuplicateKey, LayerSyntax, "An object has a key once."},
	{RuleSize, LayerSyntax, "The document is not larger than the bound."},
	{RuleDepth, LayerSyntax, "The document is not nested deeper than the bound."},
	{RuleValues, LayerSyntax, "The document has no more values than the bound."},

	{RuleType, LayerSchema, "A value is of the type of its key; null is of no type."},
	{RuleRequired, LayerSchema, "A required key is there."},
	{RuleLength, LayerSchema, "A text is within its limits, in code points."},
	{RuleChoice, LayerSchema, "A text is one of those that are allowed."},
	{RuleURI, LayerSchema, "A URI is one as RFC 3986 defines it."},
	{RuleName, LayerSchema, "A server's name is namespace/name."},
	{RuleIconSize, LayerSchema, "An icon size is <width>x<height> or any."},
	{RuleSHA256, LayerSchema, "A fileSha256 is 64 lowercase hexadecimal characters."},
	{RuleURLTemplate, LayerSchema, "A transport's url begins with http://, https:// or a variable, and has no white space."},
	{RulePackageLatest, LayerSchema, "A package's version is not latest."},
	{RulePositionalValue, LayerSchema, "A positional argument has a value or a valueHint."},
	{RulePackageKey, LayerSchema, "A package has no unknown keys (schema of 2025-09-29)."},

	{RuleVersionRange, LayerSpecification, "A version is a specific one, not a range."},
	{RuleIconHTTPS, LayerSpecification, "An icon's src is an https URI."},
	{RuleBundleSHA256, LayerSpecification, "A bundle file has a fileSha256."},
	{RuleSubfolder, LayerSpecification, "A repository's subfolder is a clean relative path."},

	{RuleKeyCase, LayerAdvice, "A key is spelled as a known one."},
	{RuleLatest, LayerAdvice, "A server's version is not latest (an error for a registry)."},
	{RulePlaceholder, LayerAdvice, "A release template is filled in."},
	{RuleDefaultChoice, LayerAdvice, "A default is one of the choices."},
	{RuleDuplicateName, LayerAdvice, "A variable or header is declared once."},
	{RuleUnknownVariable, LayerAdvice, "A variable of a url is declared."},
	{RuleLineBreak, LayerAdvice, "A header's value has no line break."},
	{RuleLabelCase, LayerAdvice, "A well-known registryType is in lower case."},
	{RuleDotSegment, LayerAdvice, "Neither part of a name consists of dots."},

	{RuleSchemaRequired, LayerRegistry, "A $schema is given."},
	{RuleSchemaUnknown, LayerRegistry, "The $schema is a known date."},
	{RuleSchemaDeprecated, LayerRegistry, "The $schema is the current date."},
	{RuleNameParts, LayerRegistry, "Both parts of a name have two characters or more and begin and end with a letter or digit."},
	{RuleBlankTitle, LayerRegistry, "A title is not blank."},
	{RuleWebsiteHTTPS, LayerRegistry, "A websiteUrl is an https URL."},
	{RuleRepositoryHost, LayerRegistry, "A repository is on a supported host, at its canonical URL."},
	{RuleSubfolderChars, LayerRegistry, "A subfolder has only letters, digits, '-', '_', '.' and '/'."},
	{RuleIdentifierSpace, LayerRegistry, "A package's identifier has no space."},
	{RuleFlagName, LayerRegistry, "A named argument's name is a flag alone."},
	{RuleFlagRepeated, LayerRegistry, "A named argument's value or default does not begin with its name."},
	{RuleURLVariable, LayerRegistry, "Every variable of a url is declared."},
	{RuleURLHost, LayerRegistry, "A url has http or https and a host when its variables are filled in."},
	{RuleStdioURL, LayerRegistry, "A stdio transport has no url."},
	{RuleRemoteHost, LayerRegistry, "A remote's url is https and on no local host."},
}
