package storetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// herd is how many records of a resource a zoo has; half as many if each has to refer to
// another one.
const herd = 18

// zoo is many records of each resource, with odd values of which many are alike. It is the
// same each time.
type zoo struct {
	*rand.Rand
	records map[*inventory.Resource][]inventory.Record
}

func newZoo() *zoo {
	z := &zoo{rand.New(rand.NewPCG(1, 2)), map[*inventory.Resource][]inventory.Record{}}
	for _, r := range inventory.StoredResources() {
		for n := range z.size(r) {
			z.records[r] = append(z.records[r], z.record(r, n+1))
		}
	}
	return z
}

// again is the same zoo with the same chances as at the beginning, whatever came before.
func (z *zoo) again() *zoo { return &zoo{rand.New(rand.NewPCG(6, 7)), z.records} }

// settle makes a zoo and puts it into the store.
func (p *probe) settle() *zoo {
	z := newZoo()
	for _, r := range inventory.StoredResources() {
		p.create(z.all(r)...)
	}
	return z
}

// all are copies of the records of a resource.
func (z *zoo) all(r *inventory.Resource) []inventory.Record {
	all := make([]inventory.Record, len(z.records[r]))
	for i, rec := range z.records[r] {
		all[i] = inventory.Clone(rec)
	}
	return all
}

// size is that of a herd.
func (*zoo) size(r *inventory.Resource) int {
	for _, key := range r.Uniques() {
		if f, _ := r.Field(last(key.Fields)); f.Ref != nil {
			return herd / 2
		}
	}
	return herd
}

func last[T any](s []T) T { return s[len(s)-1] }

// record is the record n of a resource: the first draft that is in order.
func (z *zoo) record(r *inventory.Resource, n int) inventory.Record {
	for {
		rec := z.draft(r, n)
		if inventory.Check(rec) == nil {
			return rec
		}
	}
}

func (z *zoo) draft(r *inventory.Resource, n int) inventory.Record {
	rec := r.New()
	for _, f := range r.Fields() {
		f.Set(rec, z.fieldValue(r, f, n))
	}
	rec.Meta().ID, rec.Meta().Version = id(r, n), int64(1+z.IntN(3))
	return rec
}

// fieldValue makes a field of a key different in each record.
func (z *zoo) fieldValue(r *inventory.Resource, f *inventory.Field, n int) any {
	own := slices.ContainsFunc(r.Uniques(), func(u inventory.Unique) bool { return last(u.Fields) == f.Name })
	switch {
	case f.Column == "" || !f.Required && z.IntN(4) == 0:
		return nil
	case f.Ref != nil && own:
		to, _ := inventory.Named(f.Ref.To)
		return id(to, herd/2+n)
	case f.Ref != nil:
		to, _ := inventory.Named(f.Ref.To)
		return id(to, 1+z.IntN(herd/2))
	case own && f.Kind == inventory.Int:
		return int64(*f.Min) + int64(n)
	case own && f.Format == "email":
		return sampleText(f, n)
	case own:
		return pick(z.Rand, oddTexts()) + string(rune('a'+n))
	}
	return z.value(f)
}

// value is one that many records may have.
func (z *zoo) value(f *inventory.Field) any {
	switch f.Kind {
	case inventory.Text:
		return z.text(f)
	case inventory.Int:
		return pick(z.Rand, within(f, []int64{0, 1, 2, 64, 65, 100, 1000, 65535, 1 << 31, 1<<53 + 1, 1<<63 - 1}))
	case inventory.Float:
		return pick(z.Rand, within(f, []float64{-90, -1.5, -1e-9, 0, 1e-300, 0.1, 0.30000000000000004, 1, 52.520008, 90, 100}))
	case inventory.Bool:
		return z.IntN(2) == 0
	case inventory.Time:
		return pick(z.Rand, oddTimes())
	case inventory.List:
		list := slices.Clone(oddElements())
		z.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:z.IntN(4)]
	}
	return nil
}

func (z *zoo) text(f *inventory.Field) string {
	switch f.Format {
	case "line":
		return pick(z.Rand, oddTexts())
	case "text":
		return pick(z.Rand, append([]string{"two\nlines", "a\tb\r\n%", "\\n", "'\n'"}, oddTexts()...))
	case "timezone":
		return pick(z.Rand, []string{"Europe/Berlin", "europe/berlin", "UTC", "Etc/GMT+1", "Etc/GMT-1"})
	case "ip":
		return pick(z.Rand, []string{"10.0.1.1", "10.0.1.10", "10.0.2.1", "2001:db8::a", "192.0.2.1"})
	}
	return sampleText(f, z.IntN(5))
}

// pick is one of them.
func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// within are the numbers that a field may have.
func within[N int64 | float64](f *inventory.Field, all []N) []N {
	return slices.DeleteFunc(all, func(n N) bool {
		return f.Min != nil && float64(n) < *f.Min || f.Max != nil && float64(n) > *f.Max
	})
}

// oddTexts are lines with which something can go wrong: case, patterns, quotes, placeholders,
// letters that fold into others, blanks, and order.
func oddTexts() []string {
	return []string{
		"alpha", "Alpha", "ALPHA", "alphabet", "beta", "Beta", "z", "a",
		"100%", "1001", "a_b", "axb", `a\b`, `a\_b`, `\`, "%", "_", "*", "?", "[a-z]", "^a",
		"a'b", "''", `a"b`, "`", "a;b", "--", "/*", "$1", ":a", "@a", "{}", "a,b", "null", "NULL", "0", "-1", "1e3", "true",
		"Äpfel", "äpfel", "A\u0308pfel", "\u212aelvin", "kelvin", "KELVIN", "ß", "ss", "İ", "i", "ı", "ſ", "s",
		"zażółć", "日本", "\uffee", "😀", "👩\u200d💻", " x", "x ", "x", "a b", "\u00a0a",
	}
}

func oddElements() []string {
	return []string{"a", "A", "ab", "b", "b,c", "c", `"`, `\`, "[", "]", "{a}", "%", "'", "é", "null", "NULL", " a", "1"}
}

// oddTimes are the first and the last there are, those around a year that computers count
// from, and some that are near each other.
func oddTimes() []time.Time {
	return []time.Time{
		{},
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Unix(0, 0).UTC(), time.Unix(-1, 999_999_000).UTC(), time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC),
		moment(0), moment(0).Add(time.Microsecond), moment(0).Add(10 * time.Microsecond), moment(60), moment(24 * 60),
	}
}
