package httpapi

import (
	"crypto/sha256"
	_ "embed" // the document
	"encoding/base64"
	"io"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// document is the OpenAPI document. It is written by hand; tests compare it with the handler.
//
//go:embed openapi.json
var document []byte

// send responds with JSON and a tag of its content.
func send(w http.ResponseWriter, r *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	httpx.WriteStream(w, http.StatusOK, "application/json", int64(len(body)), func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
	return nil
}
