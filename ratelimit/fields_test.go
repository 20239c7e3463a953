package ratelimit_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var update = flag.Bool("update", false, "write the table of fields in REFERENCE.md")

// The table in the reference is that of Fields.
func TestFieldReference(t *testing.T) {
	const first, last = "<!-- fields: written by TestFieldReference -->\n", "<!-- end of fields -->\n"
	page, err := os.ReadFile("REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), first)
	table, after, found := strings.Cut(rest, last)
	if !ok || !found {
		t.Fatalf("REFERENCE.md has no lines %q and %q", first, last)
	}
	want := fieldTable(ratelimit.Fields())
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("REFERENCE.md has another table of fields; -update writes\n%s", want)
	}
	if err := os.WriteFile("REFERENCE.md", []byte(before+first+want+last+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fieldTable returns the fields as a table in Markdown, for the reference.
func fieldTable(fields []ratelimit.Field) string {
	var b strings.Builder
	b.WriteString("| field | value | default | number | |\n|---|---|---|---|---|\n")
	for i := range fields {
		f := &fields[i]
		value := string(f.Value.Kind)
		if f.Value.Words != "" {
			value = f.Value.Words
		}
		number := fmt.Sprint(f.Number)
		if f.Extension {
			number += ", extension"
		}
		name := f.Name
		if f.InLimit {
			name = "rate_limit." + name
		}
		counts := ""
		if f.Counts {
			counts = "; changes counting"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s (%s)%s |\n", name, value, f.Default, number, f.Doc, f.Section, counts)
	}
	return b.String()
}

// No two fields have one name, and no two of a message one number.
func TestFieldsAreDistinct(t *testing.T) {
	type number struct {
		inLimit bool
		number  int32
	}
	names, numbers := map[string]bool{}, map[number]string{
		{false, 1}: "key", {false, 2}: "value", {false, 3}: "rate_limit", {false, 4}: "descriptors",
	}
	for _, f := range ratelimit.Fields() {
		at := number{f.InLimit, f.Number}
		if names[f.Name] || numbers[at] != "" {
			t.Errorf("%s has the name or number of another field: %s", f.Name, numbers[at])
		}
		names[f.Name], numbers[at] = true, f.Name
		if f.Doc == "" || f.Default == "" || f.Section == "" || f.Extension && f.Number <= 1000 {
			t.Errorf("%s lacks a description, or an extension has a number of the resource type: %+v", f.Name, f)
		}
	}
}
