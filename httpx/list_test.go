package httpx_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

func fields() []httpx.Field {
	return []httpx.Field{
		{Name: "name", Parse: httpx.Text, Sort: true},
		{Name: "mtu", Parse: httpx.Int, Sort: true},
		{Name: "active", Parse: httpx.Bool},
		{Name: "last_seen", Parse: httpx.Timestamp},
		{Name: "status", Parse: httpx.OneOf("up", "down")},
		{Name: "tags", Parse: httpx.Text, Multi: true},
		{Name: "created_at", Sort: true},
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]httpx.List{
		"":                {Page: 1, Limit: 10},
		"page=3&limit=7":  {Page: 3, Limit: 7},
		"limit=101":       {Page: 1, Limit: 100},
		"page=2147483647": {Page: 2147483647, Limit: 10},
		"other=1":         {Page: 1, Limit: 10},
		"mtu=-5&name=a%26b&active=false": {
			Page: 1, Limit: 10,
			Filters: []httpx.Filter{{"name", "a&b"}, {"mtu", int64(-5)}, {"active", false}},
		},
		"last_seen=2026-01-31T12:00:00%2B02:00&status=up&tags=a&tags=b": {
			Page: 1, Limit: 10,
			Filters: []httpx.Filter{{"last_seen", time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)}, {"status", "up"}, {"tags", "a"}, {"tags", "b"}},
		},
		"sortby=mtu:desc&sortby=name:asc": {Page: 1, Limit: 10, Sort: []httpx.SortKey{{"mtu", true}, {"name", false}}},
	} {
		values, _ := url.ParseQuery(query)
		got, err := httpx.ParseList(values, fields(), "other")
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("?%s: %+v, %v; want %+v", query, got, err, want)
		}
	}
}

func TestParseListRefuses(t *testing.T) {
	t.Parallel()
	const number = ": integer 2147483647"
	const sortby = "sortby: <field>:desc name, mtu, created_at"
	for query, message := range map[string]string{
		"page=0":                     "page" + number,
		"page=-1":                    "page" + number,
		"page=x":                     "page" + number,
		"page=":                      "page" + number,
		"page=2147483648":            "page" + number,
		"page=1&page=2":              "page" + number,
		"limit=0":                    "limit" + number,
		"limit=99999999999999999999": "limit" + number,
		"hostnam=x":                  "hostnam: unknown limit, tags",
		"z=1&b=1":                    "b: unknown tags",
		"=1":                         ": unknown tags",
		"created_at=x":               "created_at: unknown tags",
		"name=":                      "name: empty",
		"mtu=many":                   "mtu: integer",
		"active=1":                   "active: true",
		"last_seen=today":            "last_seen: timestamp",
		"status=flapping":            "status: up, down",
		// The specification prescribes "Duplicate query parameter forbidden" word for word.
		"name=a&name=b":                   "Duplicate query parameter forbidden: name",
		"sortby=name":                     sortby + ": did you mean name:asc?",
		"sortby=nam:desc":                 sortby + ": did you mean name:desc?",
		"sortby=":                         sortby,
		"sortby=name:up":                  sortby,
		"sortby=name:ASC":                 sortby,
		"sortby=active:asc":               sortby,
		"sortby=name:asc:asc":             sortby,
		"sortby=name:asc&sortby=name:x":   sortby,
		"sortby=mtu:asc&sortby=mtu:desc":  "sortby: duplicate mtu",
		strings.Repeat("&sortby=a:b", 17): "sortby: 16",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = httpx.ParseList(values, fields())
		if e, ok := errors.AsType[*httpx.Error](err); !ok || e.Status != 400 || !errtest.Names(e.Message, message) {
			t.Errorf("?%s:\n got %v\nwant %s", query, err, message)
		}
	}
}

// TestParseListNamesTheFirst checks that the same query gets the same response, also where one
// parameter has no name.
func TestParseListNamesTheFirst(t *testing.T) {
	t.Parallel()
	for range 50 { // the order of a map is another each time
		_, err := httpx.ParseList(url.Values{"": {"1"}, "z": {"1"}}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), ": unknown") {
			t.Fatalf("got %v, want the one without a name", err)
		}
	}
}

func TestOffset(t *testing.T) {
	t.Parallel()
	if got := (&httpx.List{Page: 2147483647, Limit: 100}).Offset(); got != 214748364600 {
		t.Errorf("the last page begins at %d", got)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	list := &httpx.List{Page: 2, Limit: 10}
	w := serve(httpx.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		return httpx.WriteJSON(w, 200, httpx.NewPage[int](list, 11, nil))
	}), request("GET", "/", ""))
	if got, want := w.Body.String(), `{"meta":{"current_page":2,"limit":10,"total_pages":2,"total_count":11},"data":[]}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := httpx.NewPage(list, 0, []int{}).Meta.TotalPages; got != 0 {
		t.Errorf("an empty list has %d pages", got)
	}
}

func TestSetPageLinks(t *testing.T) {
	t.Parallel()
	link := func(page int, rel string) string {
		return fmt.Sprintf(`<?limit=10&page=%d&q=a%%26b>; rel="%s"`, page, rel)
	}
	for _, tc := range []struct {
		page  int
		total int64
		links []string
	}{
		{1, 0, []string{link(1, "first"), link(1, "last")}},
		{1, 25, []string{link(1, "first"), link(2, "next"), link(3, "last")}},
		{2, 25, []string{link(1, "first"), link(1, "prev"), link(3, "next"), link(3, "last")}},
		{3, 25, []string{link(1, "first"), link(2, "prev"), link(3, "last")}},
		{9, 25, []string{link(1, "first"), link(3, "prev"), link(3, "last")}},
	} {
		w := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			httpx.SetPageLinks(w, r, &httpx.List{Page: tc.page, Limit: 10}, tc.total)
		}), request("GET", "/books?q=a%26b&limit=10&page=7", ""))
		want(t, w.Header(), "Link", strings.Join(tc.links, ", "))
		want(t, w.Header(), "X-Total-Count", fmt.Sprint(tc.total))
	}
}

// FuzzParseList checks that a list is within its bounds whatever the query, and that a
// refusal is a 400.
func FuzzParseList(f *testing.F) {
	f.Add("page=1&limit=5&sortby=name:asc&mtu=7")
	f.Add("sortby=:asc&name=&tags=a&tags=b")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		l, err := httpx.ParseList(values, fields())
		if err != nil {
			if e, ok := errors.AsType[*httpx.Error](err); !ok || e.Status != 400 {
				t.Errorf("refused with %#v", err)
			}
			return
		}
		if l.Page < 1 || l.Limit < 1 || l.Limit > httpx.MaxLimit || l.Offset() < 0 {
			t.Errorf("out of bounds: %+v", l)
		}
		for _, key := range l.Sort {
			if key.Field != "name" && key.Field != "mtu" && key.Field != "created_at" {
				t.Errorf("sorted by %q", key.Field)
			}
		}
	})
}
