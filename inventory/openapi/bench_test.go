package openapi_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// A server generates its document when it starts.
func BenchmarkDocument(b *testing.B) {
	ops := whole()
	b.ReportAllocs()
	for b.Loop() {
		doc, err := openapi.Document(about(), ops)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(doc)))
	}
}
