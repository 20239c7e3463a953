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
// CategoryAdvice for likely mistakes in valid documents.
const (
	CategorySyntax        Category = "syntax"
	CategorySchema        Category = "schema"
	CategorySpecification Category = "specification"
	CategoryRegistry      Category = "registry"
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
	RuleSyntax        = Rule(jsonpos.Syntax)
	RuleEncoding      = Rule(jsonpos.Encoding)
	RuleSurrogate     = Rule(jsonpos.Surrogate)
	RuleByteOrderMark = Rule(jsonpos.ByteOrderMark)
	RuleTrailing      = Rule(jsonpos.TrailingData)
	RuleDuplicateKey  = Rule(jsonpos.DuplicateKey)
	RuleSize          = Rule(jsonpos.TooLarge)
	RuleDepth         = Rule(jsonpos.TooDeep)
	RuleValues        = Rule(jsonpos.TooMany)
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
	RuleRepositoryEmpty Rule = "repository-empty"
)

// Rules of the specification's text.
const (
	RuleVersionRange Rule = "version-range"
	RuleIconHTTPS    Rule = "icon-https"
	RuleBundleSHA256 Rule = "bundle-sha256"
	RuleSubfolder    Rule = "subfolder-path"
)

// Rules for likely mistakes.
const (
	RuleKeyCase          Rule = "key-case"
	RuleSchemaDeprecated Rule = "schema-deprecated"
	RuleLatest           Rule = "version-latest"
	RulePlaceholder      Rule = "placeholder"
	RuleDefaultChoice    Rule = "default-not-a-choice"
	RuleDuplicateName    Rule = "duplicate-name"
	RuleUnknownVariable  Rule = "unknown-variable"
	RuleLineBreak        Rule = "header-line-break"
	RuleLabelCase        Rule = "label-case"
	RuleDotSegment       Rule = "name-dots"
	RuleVersionSpace     Rule = "version-space"
	RuleFormat           Rule = "value-format"
	RuleRuntimeHint      Rule = "runtime-hint"
	RuleIdentifierEmpty  Rule = "identifier-empty"
)

// Rules of a public registry.
const (
	RuleSchemaRequired  Rule = "schema-required"
	RuleSchemaUnknown   Rule = "schema-unknown"
	RuleNameParts       Rule = "name-parts"
	RuleBlankTitle      Rule = "title-blank"
	RuleWebsiteHTTPS    Rule = "website-https"
	RuleRepositoryHost  Rule = "repository-host"
	RuleSubfolderChars  Rule = "subfolder-characters"
	RuleIdentifierSpace Rule = "identifier-space"
	RuleFlagName        Rule = "flag-name"
	RuleFlagRepeated    Rule = "flag-in-value"
	RuleURLVariable     Rule = "url-variable"
	RuleURLHost         Rule = "url-host"
	RuleStdioURL        Rule = "stdio-url"
	RuleRemoteHost      Rule = "remote-host"
)

// Rules returns all rules by category.
func Rules() []RuleInfo { return slices.Clone(ruleTable[:]) }

var ruleTable = [...]RuleInfo{
	{RuleSyntax, CategorySyntax, "The document is JSON as RFC 8259 defines it."},
	{RuleEncoding, CategorySyntax, "The document is UTF-8."},
	{RuleSurrogate, CategorySyntax, "Surrogates are escaped in pairs."},
	{RuleByteOrderMark, CategorySyntax, "The document does not begin with a byte order mark."},
	{RuleTrailing, CategorySyntax, "Nothing follows the document."},
	{RuleDuplicateKey, CategorySyntax, "An object has no duplicate keys."},
	{RuleSize, CategorySyntax, "The document does not exceed the size limit."},
	{RuleDepth, CategorySyntax, "The document does not exceed the depth limit."},
	{RuleValues, CategorySyntax, "The document does not exceed the limit on values."},

	{RuleType, CategorySchema, "A value has the type of its key; null is never allowed."},
	{RuleRequired, CategorySchema, "A required key is present."},
	{RuleLength, CategorySchema, "A string is within its length limits, in code points."},
	{RuleChoice, CategorySchema, "A string is one of the allowed values."},
	{RuleURI, CategorySchema, "A URI has the form of RFC 3986."},
	{RuleName, CategorySchema, "The name of a server has the form namespace/name."},
	{RuleIconSize, CategorySchema, "An icon size is <width>x<height> or any."},
	{RuleSHA256, CategorySchema, "A fileSha256 is 64 lowercase hexadecimal characters."},
	{RuleURLTemplate, CategorySchema, "The url of a transport begins with http://, https:// or a variable, and has no white space."},
	{RulePackageLatest, CategorySchema, "The version of a package is not latest."},
	{RulePositionalValue, CategorySchema, "A positional argument has a value or a valueHint."},
	{RulePackageKey, CategorySchema, "A package has no unknown keys (schema of 2025-09-29)."},
	{RuleRepositoryEmpty, CategorySchema, "A repository is not empty."},

	{RuleVersionRange, CategorySpecification, "A version is specific, not a range."},
	{RuleIconHTTPS, CategorySpecification, "The src of an icon is an https URI."},
	{RuleBundleSHA256, CategorySpecification, "A bundle file has a fileSha256."},
	{RuleSubfolder, CategorySpecification, "The subfolder of a repository is a clean relative path."},

	{RuleKeyCase, CategoryAdvice, "A key does not differ from a known one only by case, underscores or one typing error."},
	{RuleSchemaDeprecated, CategoryAdvice, "The $schema has the current date."},
	{RuleLatest, CategoryAdvice, "The version of a server is not latest (an error for a registry)."},
	{RulePlaceholder, CategoryAdvice, "A string has no placeholder of a release template."},
	{RuleDefaultChoice, CategoryAdvice, "A default is one of the choices."},
	{RuleDuplicateName, CategoryAdvice, "An environment variable is declared once."},
	{RuleUnknownVariable, CategoryAdvice, "The variables of a url and of the value of a header are declared."},
	{RuleLineBreak, CategoryAdvice, "The value of a header has no line break."},
	{RuleLabelCase, CategoryAdvice, "A well-known registryType is in lower case."},
	{RuleDotSegment, CategoryAdvice, "Neither part of a name consists of dots."},
	{RuleVersionSpace, CategoryAdvice, "A version has no white space around it."},
	{RuleFormat, CategoryAdvice, "The default and the value of an input have its format."},
	{RuleRuntimeHint, CategoryAdvice, "A package with runtimeArguments has a runtimeHint."},
	{RuleIdentifierEmpty, CategoryAdvice, "The identifier of a package is not empty (an error for a registry)."},

	{RuleSchemaRequired, CategoryRegistry, "The manifest has a $schema."},
	{RuleSchemaUnknown, CategoryRegistry, "The $schema has a known date (a warning without a registry)."},
	{RuleNameParts, CategoryRegistry, "Both parts of a name have two characters or more and begin and end with a letter or digit."},
	{RuleBlankTitle, CategoryRegistry, "A title is not blank."},
	{RuleWebsiteHTTPS, CategoryRegistry, "A websiteUrl is an https URL with a host."},
	{RuleRepositoryHost, CategoryRegistry, "A repository is at a supported host, and its url is that of the repository."},
	{RuleSubfolderChars, CategoryRegistry, "A subfolder has only letters, digits, '-', '_', '.' and '/'."},
	{RuleIdentifierSpace, CategoryRegistry, "The identifier of a package has no space."},
	{RuleFlagName, CategoryRegistry, "The name of a named argument is only a flag."},
	{RuleFlagRepeated, CategoryRegistry, "The value and default of a named argument do not begin with its name."},
	{RuleURLVariable, CategoryRegistry, "The variables of a url are declared (a warning without a registry)."},
	{RuleURLHost, CategoryRegistry, "A url has http or https and a host when its variables are filled in."},
	{RuleStdioURL, CategoryRegistry, "A stdio transport has no url."},
	{RuleRemoteHost, CategoryRegistry, "The url of a remote is https and not on the local host."},
}
