package manifest

import (
	"slices"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Rule is the stable id of a rule, for tools that filter problems (REFERENCE.md, 2 and 3).
type Rule string

// Category states where a rule comes from.
type Category string

// The categories. Rules of CategorySyntax and CategorySchema are errors in every profile.
// Those of CategorySpecification are in the text of the specification only, and warnings
// under the dated schemas. CategoryRegistry is for what a public registry adds,
// CategoryPublish for what the public registry requires of packages only when it publishes them, CategoryAdvice for likely
// mistakes in valid documents.
const (
	CategorySyntax        Category = "syntax"
	CategorySchema        Category = "schema"
	CategorySpecification Category = "specification"
	CategoryRegistry      Category = "registry"
	CategoryPublish       Category = "publish"
	CategoryAdvice        Category = "advice"
)

// RuleInfo describes a rule.
type RuleInfo struct {
	Rule     Rule
	Category Category
	Summary  string // what the rule requires, in one sentence
}

// Rules of the syntax.
const (
	ruleSyntax        = Rule(jsonpos.Syntax)
	ruleEncoding      = Rule(jsonpos.Encoding)
	ruleSurrogate     = Rule(jsonpos.Surrogate)
	ruleByteOrderMark = Rule(jsonpos.ByteOrderMark)
	ruleTrailing      = Rule(jsonpos.TrailingData)
	ruleDuplicateKey  = Rule(jsonpos.DuplicateKey)
	ruleSize          = Rule(jsonpos.TooLarge)
	ruleDepth         = Rule(jsonpos.TooDeep)
	ruleValues        = Rule(jsonpos.TooMany)
)

// Rules of the schema.
const (
	ruleType            Rule = "type"
	ruleRequired        Rule = "required"
	ruleLength          Rule = "length"
	ruleChoice          Rule = "choice"
	ruleURI             Rule = "uri"
	ruleName            Rule = "name-form"
	ruleIconSize        Rule = "icon-size"
	ruleSHA256          Rule = "sha256-form"
	ruleURLTemplate     Rule = "url-template"
	rulePackageLatest   Rule = "package-version-latest"
	rulePositionalValue Rule = "positional-value"
	rulePackageKey      Rule = "package-key"
	ruleRepositoryEmpty Rule = "repository-empty"
)

// Rules of the specification's text.
const (
	ruleVersionRange Rule = "version-range"
	ruleIconHTTPS    Rule = "icon-https"
	ruleBundleSHA256 Rule = "bundle-sha256"
	ruleSubfolder    Rule = "subfolder-path"
)

// Rules for likely mistakes.
const (
	ruleKeyCase          Rule = "key-case"
	ruleSchemaDeprecated Rule = "schema-deprecated"
	ruleLatest           Rule = "version-latest"
	rulePlaceholder      Rule = "placeholder"
	ruleDefaultChoice    Rule = "default-not-a-choice"
	ruleDuplicateName    Rule = "duplicate-name"
	ruleUnknownVariable  Rule = "unknown-variable"
	ruleLineBreak        Rule = "header-line-break"
	ruleLabelCase        Rule = "label-case"
	ruleDotSegment       Rule = "name-dots"
	ruleVersionSpace     Rule = "version-space"
	ruleFormat           Rule = "value-format"
	ruleRuntimeHint      Rule = "runtime-hint"
	ruleIdentifierEmpty  Rule = "identifier-empty"
	ruleRootKey          Rule = "package-key-at-root"
	ruleRuntimeArgument  Rule = "runtime-argument"
	ruleVariableName     Rule = "variable-name-empty"
)

// Rules of a public registry.
const (
	ruleSchemaRequired  Rule = "schema-required"
	ruleSchemaUnknown   Rule = "schema-unknown"
	ruleNameParts       Rule = "name-parts"
	ruleBlankTitle      Rule = "title-blank"
	ruleWebsiteHTTPS    Rule = "website-https"
	ruleRepositoryHost  Rule = "repository-host"
	ruleSubfolderChars  Rule = "subfolder-characters"
	ruleIdentifierSpace Rule = "identifier-space"
	ruleFlagName        Rule = "flag-name"
	ruleFlagRepeated    Rule = "flag-in-value"
	ruleURLVariable     Rule = "url-variable"
	ruleURLHost         Rule = "url-host"
	ruleStdioURL        Rule = "stdio-url"
	ruleRemoteHost      Rule = "remote-host"
	rulePublisherMeta   Rule = "publisher-meta"
)

// Rules of the public registry for packages that are published.
const (
	rulePublicType       Rule = "public-type"
	rulePublicVersion    Rule = "public-version"
	rulePublicHash       Rule = "public-sha256"
	rulePublicBase       Rule = "public-base-url"
	rulePublicIdentifier Rule = "public-identifier"
)

// Rules returns all rules by category.
func Rules() []RuleInfo { return slices.Clone(ruleTable[:]) }

var ruleTable = [...]RuleInfo{
	{ruleSyntax, CategorySyntax, "The document is JSON as RFC 8259 defines it."},
	{ruleEncoding, CategorySyntax, "The document is UTF-8."},
	{ruleSurrogate, CategorySyntax, "Surrogates are escaped in pairs."},
	{ruleByteOrderMark, CategorySyntax, "The document does not begin with a byte order mark."},
	{ruleTrailing, CategorySyntax, "Nothing follows the document."},
	{ruleDuplicateKey, CategorySyntax, "An object has no duplicate keys."},
	{ruleSize, CategorySyntax, "The document does not exceed the size limit."},
	{ruleDepth, CategorySyntax, "The document does not exceed the depth limit."},
	{ruleValues, CategorySyntax, "The document does not exceed the limit on values."},

	{ruleType, CategorySchema, "A value has the type of its key; null is never allowed."},
	{ruleRequired, CategorySchema, "A required key is present."},
	{ruleLength, CategorySchema, "A string is within its length limits, in code points."},
	{ruleChoice, CategorySchema, "A string is one of the allowed values."},
	{ruleURI, CategorySchema, "A URI has the form of RFC 3986."},
	{ruleName, CategorySchema, "The name of a server has the form namespace/name."},
	{ruleIconSize, CategorySchema, "An icon size is <width>x<height> or any."},
	{ruleSHA256, CategorySchema, "A fileSha256 is 64 lowercase hexadecimal characters."},
	{ruleURLTemplate, CategorySchema, "The url of a transport begins with http://, https:// or a variable, and has no white space."},
	{rulePackageLatest, CategorySchema, "The version of a package is not latest."},
	{rulePositionalValue, CategorySchema, "A positional argument has a value or a valueHint."},
	{rulePackageKey, CategorySchema, "A package has no unknown keys (schema of 2025-09-29)."},
	{ruleRepositoryEmpty, CategorySchema, "A repository is not empty."},

	{ruleVersionRange, CategorySpecification, "A version is specific, not a range."},
	{ruleIconHTTPS, CategorySpecification, "The src of an icon is an https URI."},
	{ruleBundleSHA256, CategorySpecification, "A bundle file has a fileSha256."},
	{ruleSubfolder, CategorySpecification, "The subfolder of a repository is a clean relative path."},

	{ruleKeyCase, CategoryAdvice, "A key does not differ from a known one only by case, underscores or one typing error."},
	{ruleSchemaDeprecated, CategoryAdvice, "The $schema has the current date."},
	{ruleLatest, CategoryAdvice, "The version of a server is not latest (an error for a registry)."},
	{rulePlaceholder, CategoryAdvice, "A string has no placeholder of a template."},
	{ruleDefaultChoice, CategoryAdvice, "A default is one of the choices."},
	{ruleDuplicateName, CategoryAdvice, "An environment variable is declared once."},
	{ruleUnknownVariable, CategoryAdvice, "The variables of a url and of the value of a header are declared."},
	{ruleLineBreak, CategoryAdvice, "The value of a header has no line break."},
	{ruleLabelCase, CategoryAdvice, "A well-known registryType is in lower case."},
	{ruleDotSegment, CategoryAdvice, "Neither part of a name consists of dots."},
	{ruleVersionSpace, CategoryAdvice, "A version has no white space around it."},
	{ruleFormat, CategoryAdvice, "The default and the value of an input have its format."},
	{ruleRuntimeHint, CategoryAdvice, "A package with runtimeArguments has a runtimeHint."},
	{ruleIdentifierEmpty, CategoryAdvice, "The identifier of a package is not empty (an error for a registry)."},
	{ruleRootKey, CategoryAdvice, "The keys of a package are in the package, not at the root."},
	{ruleRuntimeArgument, CategoryAdvice, "The runtimeArguments of a container image are options of the program that runs it."},
	{ruleVariableName, CategoryAdvice, "An environment variable has a name."},

	{ruleSchemaRequired, CategoryRegistry, "The manifest has a $schema."},
	{ruleSchemaUnknown, CategoryRegistry, "The $schema has a known date (a warning without a registry)."},
	{ruleNameParts, CategoryRegistry, "Both parts of a name have two characters or more and begin and end with a letter or digit."},
	{ruleBlankTitle, CategoryRegistry, "A title is not blank."},
	{ruleWebsiteHTTPS, CategoryRegistry, "A websiteUrl is an https URL with a host."},
	{ruleRepositoryHost, CategoryRegistry, "A repository is at a supported host, and its url is that of the repository."},
	{ruleSubfolderChars, CategoryRegistry, "A subfolder has only letters, digits, '-', '_', '.' and '/'."},
	{ruleIdentifierSpace, CategoryRegistry, "The identifier of a package has no space."},
	{ruleFlagName, CategoryRegistry, "The name of a named argument is only a flag."},
	{ruleFlagRepeated, CategoryRegistry, "The value and default of a named argument do not begin with its name."},
	{ruleURLVariable, CategoryRegistry, "The variables of a url are declared (a warning without a registry)."},
	{ruleURLHost, CategoryRegistry, "A url has http or https and a host when its variables are filled in."},
	{ruleStdioURL, CategoryRegistry, "A stdio transport has no url."},
	{ruleRemoteHost, CategoryRegistry, "The url of a remote is https and not on the local host."},
	{rulePublisherMeta, CategoryRegistry, "Publisher metadata has at most 4096 bytes."},

	{rulePublicType, CategoryPublish, "A registryType is npm, pypi, oci, nuget, cargo or mcpb, in lower case."},
	{rulePublicVersion, CategoryPublish, "A package of npm, pypi, nuget or cargo has a version, and an image has none."},
	{rulePublicHash, CategoryPublish, "Only a bundle file has a fileSha256."},
	{rulePublicBase, CategoryPublish, "A registryBaseUrl is that of the public registry to the letter; images and bundle files have none."},
	{rulePublicIdentifier, CategoryPublish, "An image is at a known host, and a bundle file is one of a release at GitHub or GitLab."},
}
