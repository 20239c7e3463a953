package sqlstore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// change is a column that does not fit its field: what it is, and what it should be.
type change struct {
	column     string
	have, want catalogColumn
	zero       string // the value of records without one, if they need one
}

// changes returns the columns of a table that do not fit the fields, apart from missing ones. constrained compares
// checks and references too. The fields that are added to a struct (records.Extend) are compared only: programs with
// different ones may share a database.
func (d *Dialect) changes(table string, fields []*records.Field, have *Catalog, constrained bool) (all []change, err error) {
	for _, f := range fields {
		column, exists := have.columns[table][f.Column]
		if !exists {
			continue
		}
		want := column
		want.notNull = !f.Nullable
		if constrained && !f.Extra {
			want.check, want.reference = d.checkOf(f, column.check), reference(f)
		}
		changed := column.notNull != want.notNull || column.check != want.check || normal(local(column.reference)) != normal(local(want.reference))
		needsValue := f.Extra || f.Ref != nil
		switch {
		case column.typ != d.DDL.Types[f.Kind]:
			return nil, fmt.Errorf("the column %s of the table %s has the type %s, and the field needs %s: change it with a migration, or rename the field",
				f.Column, table, column.typ, d.DDL.Types[f.Kind])
		case f.Extra && column.notNull && f.Nullable:
			return nil, fmt.Errorf("the column %s of the table %s is NOT NULL, and the field may be null: change it with a migration", f.Column, table)
		case needsValue && !column.notNull && !f.Nullable:
			return nil, fmt.Errorf("the column %s of the table %s may be null, and the field may not: change it with a migration", f.Column, table)
		case changed && !have.fixed:
			all = append(all, change{f.Column, column, want, d.zero(f)})
		}
	}
	return all, nil
}

// checkOf returns the condition that a column needs, which is the one that it has if they mean the same. A column
// that was added to existing records may refuse less: they need not have values that are required now.
func (d *Dialect) checkOf(f *records.Field, have string) string {
	added := have == "" || !strings.Contains(have, "<>") && strings.Contains(have, "''")
	want := d.condition(f, f.Required && !added)
	if normal(want) == normal(have) || have == "" && outside(f) {
		return have
	}
	return want
}

// alterations returns the statements that make columns fit, and add conditions on several columns.
func (d *Dialect) alterations(table string, changes []change, checks []string, have *Catalog) (all []string) {
	if len(changes) == 0 && len(checks) == 0 {
		return nil
	}
	var fills []string
	for _, c := range changes {
		if c.want.notNull && !c.have.notNull {
			fills = append(fills, "UPDATE "+table+" SET "+c.column+" = "+c.zero+" WHERE "+c.column+" IS NULL")
		}
	}
	if d.DDL.Definitions != "" {
		return rewritten(table, changes, checks, fills, have.definitions[table])
	}
	alter := "ALTER TABLE " + table + " "
	var added []string
	for _, c := range changes {
		switch {
		case c.have.notNull && !c.want.notNull:
			all = append(all, alter+"ALTER COLUMN "+c.column+" DROP NOT NULL")
		case c.want.notNull && !c.have.notNull:
			added = append(added, alter+"ALTER COLUMN "+c.column+" SET NOT NULL")
		}
		if c.have.check != c.want.check {
			if c.have.check != "" {
				all = append(all, alter+"DROP CONSTRAINT "+c.have.checkName)
			}
			if c.want.check != "" {
				added = append(added, alter+"ADD CONSTRAINT "+local(identifier(table, c.column, "check"))+" CHECK ("+c.want.check+")")
			}
		}
		if normal(local(c.have.reference)) != normal(local(c.want.reference)) {
			if c.have.reference != "" {
				all = append(all, alter+"DROP CONSTRAINT "+referenceName(table, c.column))
			}
			if c.want.reference != "" {
				added = append(added, alter+"ADD CONSTRAINT "+referenceName(table, c.column)+" FOREIGN KEY ("+c.column+") REFERENCES "+c.want.reference)
			}
		}
	}
	for _, check := range checks {
		added = append(added, alter+"ADD CHECK ("+check+")")
	}
	return slices.Concat(all, fills, added)
}

// rewritten returns the statements that change the text of the definition of a table, for SQLite. Its documentation
// has this for changes that leave the content as it is (ALTER TABLE, "Making Other Kinds Of Table Schema Changes");
// a copy of the table would take as long as it is large, and dropping the old one would delete the records that
// refer to it, since a transaction can't switch foreign keys off. Columns may be null until the missing values are
// filled in. Existing records that violate a constraint are refused, by a table that also makes other connections read
// the schema again.
func rewritten(table string, changes []change, checks, fills []string, text string) []string {
	head, definitions, tail := definitionsOf(text)
	for _, check := range checks {
		definitions = append(definitions, "\n    CHECK ("+check+")")
	}
	rewrite := func(filled bool) []string {
		for _, c := range changes {
			c.want.notNull = c.want.notNull && (filled || c.have.notNull)
			i := slices.IndexFunc(definitions, func(definition string) bool { return columnOf(definition) == c.column })
			definitions[i] = "\n    " + c.column + " " + c.want.definition(referenceName(table, c.column))
		}
		return []string{
			"PRAGMA writable_schema = ON",
			"UPDATE sqlite_schema SET sql = " + literal(head+strings.Join(definitions, ",")+tail) + " WHERE type = 'table' AND name = " + literal(table),
			"PRAGMA writable_schema = RESET",
		}
	}
	refusing := table + refusing
	all := []string{"CREATE TABLE " + refusing + " (record INTEGER CHECK (record IS NULL))"}
	if len(fills) > 0 {
		all = slices.Concat(all, rewrite(false), fills)
	}
	refuse := func(condition string) {
		all = append(all, "INSERT INTO "+refusing+" (record) SELECT 1 FROM "+table+" WHERE "+condition+" LIMIT 1")
	}
	for _, c := range changes {
		if c.have.check != c.want.check && c.want.check != "" {
			refuse("NOT (" + c.want.check + ")")
		}
		if to, _, ok := strings.Cut(c.want.reference, " ("); ok {
			refuse(c.column + " IS NOT NULL AND " + c.column + " NOT IN (SELECT id FROM " + to + ")")
		}
	}
	for _, check := range checks {
		refuse("NOT (" + check + ")")
	}
	return slices.Concat(all, rewrite(true), []string{"DROP TABLE " + refusing})
}

// refusing ends the name of the table that refuses records.
const refusing = "_changed_schema"

// checksRecords reports whether a statement fails because of existing records only.
func checksRecords(text string) bool {
	return strings.Contains(text, refusing+" (record) SELECT") || strings.Contains(text, " ADD CONSTRAINT ") || strings.Contains(text, " ADD CHECK ")
}

// definition returns the type and the constraints of a column, of which the reference has a name.
func (c catalogColumn) definition(referenceName string) string {
	text := c.typ
	if c.notNull {
		text += " NOT NULL"
	}
	if c.value != "" {
		text += " DEFAULT " + c.value
	}
	if c.check != "" {
		text += " CHECK (" + c.check + ")"
	}
	if c.reference != "" {
		text += " CONSTRAINT " + referenceName + " REFERENCES " + c.reference
	}
	return text
}

// definitionsOf returns the definitions of columns and constraints in the statement that created a table, and what
// stands before and after them.
func definitionsOf(text string) (head string, all []string, tail string) {
	from, to := strings.Index(text, "(")+1, strings.LastIndex(text, ")")
	return text[:from], split(text[from:to], ","), text[to:]
}

// columnOf returns the column of a definition, or the first word of a constraint.
func columnOf(definition string) string { return strings.Trim(words(definition)[0], `"`) }

// words returns the words of a definition. What is in parentheses is one word.
func words(definition string) []string {
	definition = strings.Join(split(strings.TrimSpace(definition), "\n\t"), " ")
	var all []string
	for _, word := range split(definition, " ") {
		if word != "" {
			all = append(all, word)
		}
	}
	return append(all, "")
}

// split splits a text at some characters that are neither quoted nor in parentheses.
func split(text, at string) (parts []string) {
	depth, from := 0, 0
	var quote rune
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.ContainsRune(at, c):
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// token is a string, a cast, or a word or an operator of a condition.
var token = regexp.MustCompile(`'(?:[^']|'')*'|::(?:double precision|\w+)|[\w.-]+|[<>=]+`)

// number is a number that PostgreSQL quotes.
var number = regexp.MustCompile(`^'-?[\d.]+'$`)

// normal returns a condition or a reference in a form in which the one of a statement and that of PostgreSQL for it are
// equal: CHECK ((status = ANY (ARRAY['a'::text]))) is status IN ('a').
func normal(text string) string {
	var all []string
	for _, t := range token.FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(t, "::"), t == "ARRAY", t == "ANY":
		case t == "IN":
			all = append(all, "=")
		case number.MatchString(t):
			all = append(all, strings.Trim(t, "'"))
		default:
			all = append(all, t)
		}
	}
	return strings.Join(all, " ")
}
