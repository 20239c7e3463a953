package httpx_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

func Example() {
	type Book struct {
		Title string `json:"title"`
		Pages int    `json:"pages"`
	}
	books := httpx.NewBody[Book](nil)
	mux := http.NewServeMux()
	mux.Handle("POST /books", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		book, err := books.Read(r)
		if err != nil {
			return err
		}
		return httpx.WriteJSON(w, http.StatusCreated, book)
	}))
	handler := httpx.Standard(&httpx.StandardOptions{
		RequestID: &httpx.RequestIDOptions{New: func() string { return "7" }},
	})(httpx.Mux(mux))

	for _, body := range []string{`{"title":"Emma","pages":474}`, `{"titel":"Emma"}`, `{"title":"Emma","pages":"many"}`} {
		r := httptest.NewRequest("POST", "/books", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 201 {"title":"Emma","pages":474}
	// 400 {"status":"error","message":"Invalid JSON: titel: is no known field: use title, pages (line 1, column 2)","request_id":"7","errors":[{"field":"titel","reason":"is no known field: use title, pages (line 1, column 2)"}]}
	// 400 {"status":"error","message":"Invalid JSON: pages: must be an integer, not a string (line 1, column 25)","request_id":"7","errors":[{"field":"pages","reason":"must be an integer, not a string (line 1, column 25)"}]}
}

// The query of a list, for a store that is told what to filter and sort by.
func ExampleParseList() {
	fields := []httpx.Field{
		{Name: "hostname", Parse: httpx.Text, Sort: true},
		{Name: "mtu", Parse: httpx.Int},
	}
	for _, target := range []string{"/?mtu=1500&sortby=hostname:desc&page=3", "/?hostnam=x"} {
		list, err := httpx.ParseList(httptest.NewRequest("GET", target, nil).URL.Query(), fields)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(list.Filters, list.Sort, list.Offset(), list.Limit)
	}
	// Output:
	// [{mtu 1500}] [{hostname true}] 20 10
	// hostnam: is no known query parameter: use page, limit, sortby, hostname, mtu
}
