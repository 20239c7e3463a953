package openapi_test

import (
	"encoding/json"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The operations are described here; the schema of a device is derived from its resource.
func ExampleDocument() {
	r := records.Of[inventory.Device](inventory.Schema())
	doc, err := openapi.Document(openapi.Info{Title: "Inventory", Version: "1.0.0"}, []openapi.Operation{{
		Method: "GET", Path: "/devices/{id}", ID: "getDevice", Tag: "devices", Summary: "Get one device",
		Access:    "Everyone with a token.",
		Responses: []openapi.Response{{Status: 200, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var read struct {
		OpenAPI    string
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(doc, &read); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.OpenAPI)
	fmt.Println(read.Components.Schemas["Device"].Properties["location_id"].Description)
	// Output:
	// 3.1.0
	// The id of a record of locations; deleting that record sets this field to null. A UUID.
}
