package apidocs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/apidocs"
)

func ExampleNew() {
	docs := http.StripPrefix("/docs", apidocs.New(&apidocs.Options{
		Title:       "Network inventory",
		DocumentURL: "../openapi.json",
	}))
	mux := http.NewServeMux()
	mux.Handle("/docs", docs) // leads to where there is a slash
	mux.Handle("/docs/", docs)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/docs/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "<title>Network inventory</title>"))
	// Output: 200 true
}
