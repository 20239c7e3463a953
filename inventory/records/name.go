package records

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sqlWords are the names that PostgreSQL or SQLite do not accept for a column or a table without
// quotes.
var sqlWords = strings.Fields(`
	add all alter analyse analyze and any array as asc asymmetric authorization autoincrement between binary both case cast check
	cmax cmin collate collation column commit concurrently constraint create cross ctid current_catalog current_date current_role
	current_schema current_time current_timestamp current_user default deferrable delete desc distinct do drop else end escape
	except exists false fetch for foreign freeze from full grant group having ilike in index indexed initially inner insert
	intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not nothing notnull null
	offset on only or order outer overlaps placing primary references returning right rowid select session_user set similar some
	symmetric system_user table tableoid tablesample then to trailing transaction true union unique update user using values
	variadic verbose when where window with xmax xmin`)

// sqlName returns the name of a column or a table: that of its field or resource, with an
// underscore at the end if databases do not accept it.
func sqlName(name string) string {
	if slices.Contains(sqlWords, name) {
		return name + "_"
	}
	return name
}

// resourcePattern is the form of the name of a resource.
var resourcePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// reservedPaths are the paths that no resource may have as its name.
var reservedPaths = []string{"docs", "debug"}

// checkResourceName checks the name of a resource, which is also a path and a table.
func checkResourceName(name string) error {
	switch {
	case !resourcePattern.MatchString(name) || len(name) > maxName:
		return fmt.Errorf("the resource has the name %q: use up to %d lower-case letters, digits and single hyphens, beginning with a letter", name, maxName)
	case slices.Contains(reservedPaths, name) || strings.HasPrefix(name, "sqlite-") || strings.HasPrefix(name, "pg-"):
		return fmt.Errorf("the resource has the name %q, which is reserved: use another one", name)
	}
	return nil
}
