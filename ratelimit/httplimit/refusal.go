package httplimit

import (
	"encoding/json"
	"net/http"
)

// refusal is an answer without the handler: always the same.
type refusal struct {
	status int
	body   []byte
}

func newRefusal(status int, message string) *refusal {
	body, err := json.Marshal(struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"error", message})
	if err != nil {
		panic(err) // two strings
	}
	return &refusal{status: status, body: append(body, '\n')}
}

// ServeHTTP keeps caches from handing the refusal to others, or to the same
// client later on.
func (f *refusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body) // a client that does not listen is its own loss
}
