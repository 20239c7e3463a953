package main

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/ashlar-go/ashlar/httpx"
)

type note struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Validate implements [httpx.Validator].
func (n *note) Validate() (invalid []httpx.FieldError) {
	if n.Title == "" || len(n.Title) > 100 {
		invalid = append(invalid, httpx.FieldError{Field: "title", Reason: "must have 1 to 100 bytes"})
	}
	return invalid
}

// routes serves notes that are in memory: the first has the id 1.
func routes() http.Handler {
	var mu sync.Mutex
	var notes []note
	mux := http.NewServeMux()
	mux.Handle("POST /notes", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		n, err := httpx.ReadJSON[note](r)
		if err != nil {
			return err
		}
		mu.Lock()
		notes = append(notes, n)
		id := len(notes)
		mu.Unlock()
		w.Header().Set("Location", "/notes/"+strconv.Itoa(id))
		return httpx.WriteJSON(w, http.StatusCreated, n)
	}))
	mux.Handle("GET /notes", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		l, err := httpx.ParseList(r.URL.Query(), nil)
		if err != nil {
			return err
		}
		mu.Lock()
		all := notes
		mu.Unlock()
		page := all[min(int(l.Offset()), len(all)):]
		return httpx.WriteJSON(w, http.StatusOK, httpx.NewPage(l, int64(len(all)), page[:min(l.Limit, len(page))]))
	}))
	mux.Handle("GET /notes/{id}", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		mu.Lock()
		all := notes
		mu.Unlock()
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(all) {
			return httpx.Errorf(http.StatusNotFound, "No note has this id: GET /notes lists them")
		}
		return httpx.WriteJSON(w, http.StatusOK, all[id-1])
	}))
	return httpx.Standard(nil)(httpx.Mux(mux))
}
