package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/manifest"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	c := httpxtest.New(t, routes())
	good, err := os.ReadFile("../../manifest/testdata/examples/local.json")
	if err != nil {
		t.Fatal(err)
	}
	var yes accepted
	c.Send("POST", "/manifests", string(good)).Want(http.StatusOK).JSON(&yes)
	if yes.Name != "com.example/weather" || yes.Version != "1.4.2" || len(yes.Warnings) > 0 {
		t.Errorf("a good manifest is answered with %+v", yes)
	}

	for _, bad := range []struct {
		text         string
		status       int
		rule         manifest.Rule
		line, column int
	}{
		{"{\n  \"name\": ", http.StatusBadRequest, "json-syntax", 2, 11},
		{"{\n  \"name\": \"nowhere\", \"description\": \"d\", \"version\": \"1\"}", http.StatusUnprocessableEntity, "name-form", 2, 11},
		{`{"name": "a/b", "description": "d", "version": "1", "version": "1"}`, http.StatusUnprocessableEntity, "json-duplicate-key", 1, 53},
	} {
		var no refusal
		c.Send("POST", "/manifests", bad.text).Want(bad.status).JSON(&no)
		if len(no.Problems) != 1 {
			t.Fatalf("%s has one problem, and not %v", bad.text, no.Problems)
		}
		if p := no.Problems[0]; p.Rule != bad.rule || p.Line != bad.line || p.Column != bad.column {
			t.Errorf("%s: got %s at %d:%d, want %s at %d:%d", bad.text, p.Rule, p.Line, p.Column, bad.rule, bad.line, bad.column)
		}
		if no.Status != "error" || no.Message != "errors in the manifest: 1" {
			t.Errorf("%s: it is an error like all others, and not %+v", bad.text, no.ErrorBody)
		}
	}

	c.Send("POST", "/manifests", strings.Repeat(" ", 1<<20+1)).WantError(http.StatusRequestEntityTooLarge, "")
	c.Send("GET", "/manifests", nil).WantError(http.StatusMethodNotAllowed, "")
}
