package httpapi

import (
	"crypto/sha256"
	_ "embed" // the document
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// document is the OpenAPI document. It is written by hand; tests compare it with the handler.
//
//go:embed openapi.json
var document []byte

// sendDocument responds with the document.
func sendDocument(w http.ResponseWriter, r *http.Request) error {
	tag := contentTag(document)
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	return httpx.WriteJSON(w, http.StatusOK, json.RawMessage(document))
}

// contentTag returns the entity tag of a body.
func contentTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}
