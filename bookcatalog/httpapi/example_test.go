package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
)

func Example() {
	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), nil)
	r := httptest.NewRequest("POST", "/api/books", strings.NewReader(`{"title":"Emma","author":{"lastname":"Austen"}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output:
	// 201 application/json
}
