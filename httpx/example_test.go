package httpx_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
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
	// 400 {"status":"error","code":"invalid","message":"Invalid JSON: titel: unknown field: did you mean title? (line 1, column 2)","request_id":"7","errors":[{"field":"titel","code":"unknown","reason":"unknown field: did you mean title? (line 1, column 2)"}]}
	// 400 {"status":"error","code":"invalid","message":"Invalid JSON: pages: must be an integer, not a string (line 1, column 25)","request_id":"7","errors":[{"field":"pages","code":"wrong_type","reason":"must be an integer, not a string (line 1, column 25)"}]}
}

// The query of a list, for a store that filters and sorts.
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
	// hostnam: unknown query parameter: use page, limit, sortby, hostname, mtu
}

// The response to a list: where it lies, and the records. A list without records is [].
func ExampleNewPage() {
	list, err := httpx.ParseList(url.Values{"page": {"3"}, "limit": {"2"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	if err := httpx.WriteJSON(w, http.StatusOK, httpx.NewPage(list, 5, []string{"Persuasion"})); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(w.Body)
	// Output:
	// {"meta":{"current_page":3,"limit":2,"total_pages":3,"total_count":5},"data":["Persuasion"]}
}

// A limit that counts by address must not believe what a client says of itself.
func ExampleBehindProxies() {
	clients := httpx.BehindProxies(netip.MustParsePrefix("10.0.0.0/8"))
	for _, peer := range []string{"10.0.0.1:4711", "198.51.100.7:4711"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", "203.0.113.9, 192.0.2.1") // the first is a claim
		fmt.Println(peer, "brings a request of", clients.Addr(r))
	}
	// Output:
	// 10.0.0.1:4711 brings a request of 192.0.2.1
	// 198.51.100.7:4711 brings a request of 198.51.100.7
}

// One list says whose pages may read the responses, and whose requests are refused. It
// makes two middleware, so that a limiter can stand between them.
func ExampleNewOrigins() {
	_, err := httpx.NewOrigins([]string{"https://Shop.example.com/"})
	fmt.Println(err)

	origins, err := httpx.NewOrigins([]string{"https://shop.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	remove := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	handler := origins.CORS(origins.Protect(remove))
	for _, origin := range []string{"https://shop.example.com", "https://evil.example.com", ""} {
		r := httptest.NewRequest("DELETE", "https://api.example.com/books/7", nil)
		if origin != "" { // a browser sends it, a program does not
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%q: %d, readable by %q\n", origin, w.Code, w.Header().Get("Access-Control-Allow-Origin"))
	}
	// Output:
	// origin "https://Shop.example.com/": must be only a scheme and a host in lower case: write it as https://host or https://host:port
	// "https://shop.example.com": 204, readable by "https://shop.example.com"
	// "https://evil.example.com": 403, readable by ""
	// "": 204, readable by ""
}

// A server for all addresses of a machine answers for its IP addresses and local names; other names
// have to be listed.
func ExampleNewHosts() {
	hosts, err := httpx.NewHosts(&net.TCPAddr{Port: 8080}, &httpx.HostsOptions{
		Names: []string{"api.example.com"}, Setting: "ALLOWED_HOSTS",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"localhost:8080", "192.0.2.1", "api.example.com", "evil.example"} {
		fmt.Println(host, hosts.Allowed(host))
	}
	// Output:
	// localhost:8080 true
	// 192.0.2.1 true
	// api.example.com true
	// evil.example false
}

// A handler reserves memory before it allocates it. Requests that do not fit get 503.
func ExampleNewBudget() {
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: 1 << 20})
	handler := httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler), Budget: budget})(
		httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			if err := httpx.Reserve(r.Context(), 4<<20); err != nil {
				return err
			}
			return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("done"))
		}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/report", nil))
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	// Output: 503 1
}
