// Package openapi generates the OpenAPI 3.1 document of an inventory's API.
//
// The schemas are derived from the descriptions of the resources ([records.Resource]), so
// a new field of a record appears in the document by itself. The server of the routes
// describes the operations:
//
//	r := records.Of[inventory.Device](inventory.Schema())
//	doc, err := openapi.Document(openapi.Info{Title: "Inventory", Version: "1.0.0"}, []openapi.Operation{{
//		Method: "GET", Path: "/devices/{id}", ID: "getDevice", Tag: "devices", Summary: "Get one device",
//		Access:    "Everyone with a token.",
//		Responses: []openapi.Response{{Status: 200, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}},
//	}})
//
// [Document] adds what all routes have in common: the parameters of paths and lists, the
// errors, and the ways to send a token.
//
// # Design notes
//
// The document consists of structs encoded by encoding/json. An OpenAPI library parses and
// resolves documents, which a server does not need; the tests use one, and a JSON Schema
// validator, to check the result. Only the properties of objects are encoded in a fixed
// order, because pages show them in it.
//
// Schemas of requests refuse additional properties, as the API does. Those of responses
// allow them, so that a new field does not break strict clients.
//
// A schema allows every value that the API returns. For requests it describes the stored form
// only: that the API also accepts "Active" for "active" is not part of the contract. Rules
// about two fields (speed and speed_mbps, lat and lon) are in descriptions, because tools
// display the JSON Schema for them poorly.
//
// An optional string without a value is the empty string, so patterns and enumerations allow
// it. The formats "ipv4" and "ipv6" are not used: an address may be either.
//
// A response in application/json has one form, so that generated types have neither alternatives nor optional members. With
// the parameter fields a response has parts of records, and with dry_run a preview: these have content types of their own,
// [PartType] and [PreviewType], and 200 lists each beside application/json.
//
// The document is short, because generators make code of each parameter and response of each operation. So all errors are the
// response default, whose description lists the statuses of an operation. Headers that every response has are not
// repeated. Enumerations of fields are components, which all schemas of a record share.
//
// The parameters of a list are components, because several routes have them. First come those of pages and order. The
// conditions on fields, such as status and hostname__contains, are the last parameter, named filter: an object in the style
// form with explode, so that each of its properties is sent as a query parameter of its own. There is no query parameter
// named filter. Only the elements of lists, such as tags, have parameters of their own, because they may be repeated.
//
// Bodies with alternatives, and the alternatives, are components with names, because generators
// name their types after them.
//
// Patterns are in the common subset of ECMA 262 with and without the flag u, and of RE2, because
// tools differ in it. That subset can't name all blank characters of Unicode.
package openapi
