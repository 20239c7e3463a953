// Package openapi makes the OpenAPI 3.1 document of an inventory's API.
//
// The schemas come from the descriptions of the resources ([inventory.Resource]), so that
// a field that is added to a record is in the document too. What routes there are is told
// by whoever serves them:
//
//	r := inventory.Of[inventory.Device]()
//	doc, err := openapi.Document(openapi.Info{Title: "Inventory", Version: "1.0.0"}, []openapi.Operation{{
//		Method: "GET", Path: "/devices/{id}", ID: "getDevice", Tag: "devices", Summary: "Read a device",
//		Access:  "Everybody with a token.",
//		Answers: []openapi.Answer{{Status: 200, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}},
//	}})
//
// What all routes have in common is added here: the parameters of paths and of lists, the
// errors, the headers of every answer, and the ways to bring a token.
//
// # Design notes
//
// The document is made of plain structs and encoding/json. A library for OpenAPI reads and
// resolves documents, which nobody needs to serve one; the tests have one, and a second
// opinion on JSON Schema, to say whether what is made here is right.
//
// Schemas of requests are closed, because unknown fields are refused; those of answers are
// open, because a field that is added later must not break who was strict about it.
//
// A schema never allows less than what the inventory shows. Of what it takes, it promises
// the one way in which values are kept: that "Active" is taken for "active" is a kindness,
// not part of the contract. What binds two fields together (speed and speed_mbps, lat and
// lon) is for people to read; a schema could say it, and no tool would show it well.
//
// An optional text without a value is an empty text, so patterns and enumerations allow
// that. The formats "ipv4" and "ipv6" are not used: an address may be either.
//
// Records of a list are a Part, of which nothing is required, since the parameter fields
// may leave anything out. Saying that it is either a Record or a Part would be saying the
// same in more words.
//
// The filters of a list are components, as more than one route has them. There are many,
// and each is one that works: the alternative, to describe in prose what can be put
// behind the name of a field, is what generated clients can't read.
package openapi
