package main

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	c := httpxtest.New(t, routes())
	c.Send("POST", "/notes", note{Title: "Call Ann"}).Want(201).WantHeader("Location", "/notes/1")
	c.Send("POST", "/notes", note{Title: "Call Bob"}).Want(201).WantHeader("Location", "/notes/2")
	var got note
	if c.Send("GET", "/notes/2", nil).Want(200).JSON(&got); got.Title != "Call Bob" {
		t.Errorf("GET /notes/2: %+v", got)
	}
	for page, want := range map[string]int{"1": 1, "2": 1, "3": 0} {
		var list httpx.Page[note]
		if c.Send("GET", "/notes?limit=1&page="+page, nil).Want(200).JSON(&list); len(list.Data) != want || list.Meta.TotalCount != 2 {
			t.Errorf("page %s: %+v", page, list)
		}
	}
	c.Send("POST", "/notes", note{Title: strings.Repeat("x", 101)}).WantError(400, "title")
	c.Send("POST", "/notes", `{"titel":"Call Ann"}`).WantError(400, "titel unknown")
	c.Send("POST", "/notes", note{Title: "a", Text: strings.Repeat("x", httpx.DefaultBodyLimit)}).WantError(413, "")
	var problem httpx.Problem
	c.Send("POST", "/notes", `{}`, "Accept", "application/problem+json").Want(400).WantHeader("Content-Type", "application/problem+json").JSON(&problem)
	if len(problem.Errors) != 1 || problem.Errors[0].Field != "title" {
		t.Errorf("problem details: %+v", problem)
	}
	for _, id := range []string{"0", "3", "x"} {
		c.Send("GET", "/notes/"+id, nil).WantError(404, "not_found")
	}
}
