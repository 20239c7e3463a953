package listquery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/listquery"
)

func TestPositive(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{"1": 1, "100": 100, "2147483647": 1<<31 - 1} {
		if n, err := listquery.Positive([]string{value}, 10); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", value, n, err, want)
		}
	}
	if n, err := listquery.Positive(nil, 10); err != nil || n != 10 {
		t.Errorf("no value: %d, %v; want the default", n, err)
	}
	for _, values := range [][]string{{"0"}, {"-1"}, {"x"}, {""}, {"1.5"}, {"2147483648"}, {"1", "2"}} {
		if n, err := listquery.Positive(values, 10); err == nil || n != 10 {
			t.Errorf("%q: %d, %v; want the default and an error", values, n, err)
		}
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	sortable := []string{"a", "b"}
	keys, err := listquery.Sort([]string{"b:desc", "a:asc"}, sortable)
	if want := "[{b true} {a false}]"; err != nil || fmt.Sprint(keys) != want {
		t.Errorf("keys %v, error %v; want %v", keys, err, want)
	}
	for value, want := range map[string]string{
		"a":     "<field>:desc a, b",
		"c:asc": "a, b",
		"a:up":  "<field>:asc",
	} {
		if _, err := listquery.Sort([]string{value}, sortable); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", value, err, want)
		}
	}
	if _, err := listquery.Sort([]string{"a:asc", "a:desc"}, sortable); err == nil {
		t.Error("a field twice: no error")
	}
	if _, err := listquery.Sort(make([]string, 17), sortable); err == nil {
		t.Error("17 values: no error")
	}
}

type position struct {
	ID string `json:"i"`
	N  int    `json:"n"`
}

func TestCursor(t *testing.T) {
	t.Parallel()
	want := position{"x", 7}
	var got position
	if cursor := listquery.EncodeCursor(want); !listquery.DecodeCursor(cursor, &got) || got != want {
		t.Errorf("%q decodes to %+v, want %+v", cursor, got, want)
	}
	for _, cursor := range []string{
		"", "!", listquery.EncodeCursor(map[string]int{"unknown": 1}), strings.Repeat("A", 1<<16+1),
		listquery.EncodeCursor(want) + "A", listquery.EncodeCursor("x"),
	} {
		if listquery.DecodeCursor(cursor, &got) {
			t.Errorf("%.40q was accepted", cursor)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(listquery.EncodeCursor(position{"x", 7}))
	f.Fuzz(func(t *testing.T, cursor string) {
		var p, again position
		if listquery.DecodeCursor(cursor, &p) && (!listquery.DecodeCursor(listquery.EncodeCursor(p), &again) || again != p) {
			t.Errorf("%q: %+v does not survive encoding", cursor, p)
		}
	})
}
