package httpapi

import (
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Routes are the patterns of all routes, for tests that walk through them.
func Routes(a *API) []string {
	var all []string
	for i := range a.routes {
		all = append(all, a.routes[i].method+" "+a.routes[i].path)
	}
	return all
}

// Operations are the routes as the document tells of them.
func Operations(a *API) []openapi.Operation { return a.operations() }

// AppendRecord writes a record as answers have it.
func AppendRecord(b []byte, rec inventory.Record) []byte {
	return newEncoder(inventory.ResourceOf(rec)).append(b, rec)
}

// AppendString and AppendFloat write values as answers have them.
var (
	AppendString = appendString
	AppendFloat  = appendFloat
)

// Encoder is how records like this one are written.
func Encoder(rec inventory.Record) func([]byte, inventory.Record) []byte {
	return newEncoder(inventory.ResourceOf(rec)).append
}
