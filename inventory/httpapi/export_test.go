package httpapi

import (
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Routes returns the patterns of all routes.
func Routes(a *API) []string {
	var all []string
	for i := range a.routes {
		all = append(all, a.routes[i].method+" "+a.routes[i].path)
	}
	return all
}

// Operations returns the operations of the document.
func Operations(a *API) []openapi.Operation { return a.operations() }

// AppendRecord appends a record as in a response.
func AppendRecord(b []byte, rec inventory.Record) []byte {
	return newEncoder(inventory.ResourceOf(rec)).append(b, rec)
}

// AppendString and AppendFloat append values as in a response.
var (
	AppendString = appendString
	AppendFloat  = appendFloat
)

// Encoder returns the encoder of a record's type.
func Encoder(rec inventory.Record) func([]byte, inventory.Record) []byte {
	return newEncoder(inventory.ResourceOf(rec)).append
}
