package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// samples is the number of sample records of each resource.
const samples = 4

// id returns the id of record n of a resource. Ids are in the order of n.
func id(r *records.Resource, n int) string {
	return fmt.Sprintf("018f4c2e-7b1a-7c3d-%04x-%012x", 0x8000+slices.Index(stored, r), n)
}

// moment returns a time n minutes and n microseconds after noon.
func moment(n int) time.Time { return time.Date(2026, 1, 31, 12, n, 0, n*1000, time.UTC) }

// full returns record n of a resource, with a value in each stored field. It refers to sample
// records, and has no key in common with another n.
func full(r *records.Resource, n int) records.Record { return record(r, n, false) }

// minimal returns record n of a resource with its required fields only.
func minimal(r *records.Resource, n int) records.Record { return record(r, n, true) }

func record(r *records.Resource, n int, minimal bool) records.Record {
	rec := r.New()
	refs := map[string]int{} // the ends of a link differ
	for _, field := range r.Fields() {
		switch {
		case field.Column == "" || minimal && !field.Required:
		case field.Ref != nil && field.Ref.To == r.Name: // that record would have to be created first
		case field.Ref != nil:
			to, _ := schema.Named(field.Ref.To)
			field.Set(rec, id(to, (n-1+refs[field.Ref.To])%samples+1))
			refs[field.Ref.To]++
		default:
			setSample(field, rec, n)
		}
	}
	*rec.Meta() = records.Base{ID: id(r, n), CreatedAt: moment(n), UpdatedAt: moment(2 * n), Version: 1, Extra: rec.Meta().Extra}
	return checked(rec)
}

// alone returns record n of a resource without the references that it may lack.
func alone(r *records.Resource, n int) records.Record {
	rec := full(r, n)
	for _, field := range r.Fields() {
		if field.Ref != nil && field.Nullable {
			field.Set(rec, nil)
		}
	}
	return rec
}

// checked returns a record in the form in which stores receive it.
func checked(rec records.Record) records.Record {
	must("check a record of the suite", resourceOf(rec).Check(rec))
	return rec
}

func setSample(field *records.Field, rec records.Record, n int) {
	low := 0.0
	if field.Min != nil {
		low = *field.Min
	}
	switch field.Kind {
	case records.Text:
		field.Set(rec, sampleString(field, n))
	case records.Int:
		field.Set(rec, int64(low)+int64(n))
	case records.Float:
		field.Set(rec, low+float64(n)+0.1)
	case records.Bool:
		field.Set(rec, n%2 == 1)
	case records.Time:
		field.Set(rec, moment(3*n))
	case records.List:
		if field.Format == "uuid" {
			field.Set(rec, []string{id(schema.Resources()[0], n), id(schema.Resources()[0], n+1)})
			return
		}
		field.Set(rec, []string{fmt.Sprint("b ", n), "a", `,"[]{}\'`})
	case records.Object:
		if changes, ok := field.Pointer(rec).(*records.Changes); ok {
			*changes = records.Changes{"mtu": {Before: nil, After: 1500.5}, "tags": {Before: []string{"ä"}, After: "'"}}
		}
	}
}

// sampleString returns string n of a format.
func sampleString(field *records.Field, n int) string {
	switch field.Format {
	case "enum":
		return field.Enum[n%len(field.Enum)]
	case "ip":
		return fmt.Sprintf("10.%d.%d.1", n>>8&255, n&255)
	case "cidr", "network":
		return fmt.Sprintf("10.%d.%d.0/24", n>>8&255, n&255)
	case "interface-ip":
		return fmt.Sprintf("2001:db8::%x/64", n)
	case "mac":
		return fmt.Sprintf("00:1a:2b:3c:%02x:%02x", n>>8&255, n&255)
	case "email":
		return fmt.Sprintf("o'user%d@example.org", n)
	case "timezone":
		return fmt.Sprint("Etc/GMT+", n)
	case "speed":
		return records.FormatSpeed(int64(n)) // the one of setSample for the field in Mbps
	case "text":
		return fmt.Sprintf("Line %d\r\n\tLine — two\n ", n)
	}
	return fmt.Sprintf(` %s %d Ω😀'"%%_\?$1:a `, field.Column, n)
}

// samplesOf returns the sample records of a resource.
func samplesOf(r *records.Resource) (all []records.Record) {
	for n := range samples {
		all = append(all, full(r, n+1))
	}
	return all
}

// samples returns the sample records of the resources, those that are referred to first.
func (f *fixture) samples() (all []records.Record) {
	for _, r := range f.resources {
		all = append(all, samplesOf(r)...)
	}
	return all
}

// at returns the record with another version.
func at(rec records.Record, version int64) records.Record {
	rec.Meta().Version = version
	return rec
}

// taking returns the record with another one's values in some fields.
func taking(rec, from records.Record, fields ...string) records.Record {
	for _, name := range fields {
		field := resourceOf(rec).KeyField(name)
		field.Set(rec, field.Value(from))
	}
	return rec
}

func cloned(recs []records.Record) (all []records.Record) {
	for _, rec := range recs {
		all = append(all, records.Clone(rec))
	}
	return all
}

func last[T any](s []T) T { return s[len(s)-1] }

// optional reports whether a field may have no value.
func optional(field *records.Field) bool {
	return !field.Required && field.Default == "" && (field.Nullable || field.Kind == records.Text && len(field.Enum) == 0)
}

// many is the number of records of a resource in the data set. Resources whose keys contain a
// reference have half as many.
const many = 18

// createDataset puts the data set into the store: records with unusual values, many of which
// are equal.
func (f *fixture) createDataset() {
	f.Rand = rand.New(rand.NewPCG(1, 2))
	for _, r := range f.resources {
		size := many
		for _, key := range r.Uniques() {
			if field := r.KeyField(last(key.Fields)); field.Ref != nil {
				size = many / 2
			}
		}
		var all []records.Record
		for n := 1; n <= size; {
			rec := r.New()
			for _, field := range r.Fields() {
				field.Set(rec, f.fieldValue(r, field, n))
			}
			rec.Meta().ID, rec.Meta().Version = id(r, n), int64(1+f.IntN(3))
			if resourceOf(rec).Check(rec) == nil && !duplicate(r, rec, all) { // else try again with other values
				all = append(all, rec)
				n++
			}
		}
		f.apply(create(all...))
	}
	f.dataset = true
}

// duplicate reports whether a record has a key of another one, which a default may give it.
func duplicate(r *records.Resource, rec records.Record, others []records.Record) bool {
	return slices.ContainsFunc(r.Uniques(), func(key records.Unique) bool {
		return slices.ContainsFunc(others, func(other records.Record) bool { return sameKey(r, key, rec, other) })
	})
}

// fieldValue returns a value that is different in each record for the last field of a key, and
// else any value.
func (f *fixture) fieldValue(r *records.Resource, field *records.Field, n int) any {
	key := slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return r.KeyField(last(u.Fields)) == field })
	switch {
	case field.Column == "" || !field.Required && f.IntN(4) == 0 || field.Ref != nil && field.Ref.To == r.Name:
		return nil
	case field.Ref != nil:
		to, _ := schema.Named(field.Ref.To)
		if key {
			return id(to, many/2+n)
		}
		return id(to, 1+f.IntN(many/2))
	case key && field.Kind == records.Int:
		return int64(*field.Min) + int64(n)
	case key && (field.Format == "email" || field.Format == "network"):
		return sampleString(field, n)
	case key:
		return pick(f.Rand, oddStrings()) + string(rune('a'+n))
	}
	return f.value(field)
}

// value returns a value that many records may have.
func (f *fixture) value(field *records.Field) any {
	switch field.Kind {
	case records.Text:
		switch field.Format {
		case "line":
			return pick(f.Rand, oddStrings())
		case "text":
			return pick(f.Rand, append([]string{"two\nlines", "a\tb\r\n%", "\\n", "'\n'"}, oddStrings()...))
		case "ip":
			return pick(f.Rand, append(addresses(), sampleString(field, f.IntN(5))))
		case "interface-ip":
			return pick(f.Rand, addresses()) + pick(f.Rand, []string{"", "/24", "/8"})
		}
		return sampleString(field, f.IntN(5))
	case records.Int:
		return pick(f.Rand, within(field, []int64{0, 1, 2, 64, 65, 100, 1000, 65535, 1 << 31, 1<<53 + 1, 1<<63 - 1}))
	case records.Float:
		return pick(f.Rand, within(field, []float64{-90, -1.5, -1e-9, 0, 1e-300, 0.1, 0.30000000000000004, 1, 52.520008, 90, 100}))
	case records.Bool:
		return f.IntN(2) == 0
	case records.Time:
		return pick(f.Rand, []time.Time{ // limits, the Unix epoch, and times near each other
			{},
			time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
			time.Unix(0, 0).UTC(), time.Unix(-1, 999_999_000).UTC(), time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC),
			moment(0), moment(0).Add(time.Microsecond), moment(0).Add(10 * time.Microsecond), moment(60), moment(24 * 60),
		})
	case records.List:
		list := oddElements()
		if field.Format == "uuid" {
			list = []string{id(schema.Resources()[0], 1), id(schema.Resources()[0], 2), id(schema.Resources()[0], 3)}
		}
		f.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:f.IntN(4)]
	}
	return nil
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// within returns the numbers that a field may have.
func within[N int64 | float64](field *records.Field, all []N) []N {
	return slices.DeleteFunc(all, func(n N) bool {
		return field.Min != nil && float64(n) < *field.Min || field.Max != nil && float64(n) > *field.Max
	})
}

// addresses returns addresses whose order is not that of their strings.
func addresses() []string {
	return []string{"9.255.255.255", "10.0.0.2", "10.0.0.10", "10.0.1.1", "192.0.2.1", "::", "2001:db8::2", "2001:db8::10", "fe80::1"}
}

// oddStrings returns lines that are easily mishandled: case, patterns, quotes, placeholders,
// letters that fold into others, blanks, and order.
func oddStrings() []string {
	return []string{
		"alpha", "Alpha", "ALPHA", "alphabet", "beta", "Beta", "z", "a", "x2", "x10", "x02",
		"100%", "1001", "a_b", "axb", `a\b`, `a\_b`, `\`, "%", "_", "*", "?", "[a-z]", "^a",
		"a'b", "''", `a"b`, "`", "a;b", "--", "/*", "$1", ":a", "@a", "{}", "a,b", "null", "NULL", "0", "-1", "1e3", "true",
		"Äpfel", "äpfel", "A\u0308pfel", "\u212aelvin", "kelvin", "KELVIN", "ß", "ss", "İ", "i", "ı", "ſ", "s",
		"zażółć", "日本", "\uffee", "😀", "👩\u200d💻", " x", "x ", "x", "a b", "\u00a0a",
	}
}

func oddElements() []string {
	return []string{"a", "A", "ab", "b", "b,c", "c", `"`, `\`, "[", "]", "{a}", "%", "'", "é", "null", "NULL", " a", "1"}
}
