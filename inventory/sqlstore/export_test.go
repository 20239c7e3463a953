package sqlstore

// PlainList is for the fuzz test of the parser.
var PlainList = plainList
