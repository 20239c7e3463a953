package sqlstore

// ParseStrings is exported for a fuzz test.
var ParseStrings = parseStrings
