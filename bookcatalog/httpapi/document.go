package httpapi

import (
	"crypto/sha256"
	_ "embed" // the document
	"encoding/base64"
	"hash"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// document is the OpenAPI document. It is written by hand; tests compare it with the handler.
//
//go:embed openapi.json
var document []byte

// sendDocument responds with the document.
func sendDocument(w http.ResponseWriter, r *http.Request) error {
	content := sha256.New()
	content.Write(document)
	tag := contentTag(content)
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	return httpx.WriteBytes(w, http.StatusOK, "application/json", document)
}

// contentTag returns the entity tag of a body with a hash.
func contentTag(content hash.Hash) string {
	return `"` + base64.RawURLEncoding.EncodeToString(content.Sum(nil)[:16]) + `"`
}
