package httpapi

import (
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
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
func AppendRecord(b []byte, rec records.Record) []byte {
	return newEncoder(resourceOf(rec)).append(b, rec)
}

// AppendString and AppendFloat append values as in a response.
var (
	AppendString = appendString
	AppendFloat  = appendFloat
)

// Encoder returns the encoder of a record's type.
func Encoder(rec records.Record) func([]byte, records.Record) []byte {
	return newEncoder(resourceOf(rec)).append
}

// resourceOf returns the resource of a record.
func resourceOf(rec records.Record) *records.Resource {
	r, err := inventory.Schema().Of(rec)
	if err != nil {
		panic(err)
	}
	return r
}
