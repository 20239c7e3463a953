// Package httpxtest sends requests to a handler within the process and checks the responses.
//
//	client := httpxtest.New(t, handler)
//	var book Book
//	client.Send("POST", "/api/books", Book{Title: "Emma"}).Want(201).JSON(&book)
//	client.Send("GET", "/api/books/none", nil).WantError(404, "Book not found")
//
// # Design notes
//
// Responses are recorded without a server, so that tests run in parallel and in a synctest
// bubble. Tests that need a connection use net/http/httptest.
//
// A wrong status ends the test, because later checks would fail too. The failure message
// contains the whole response.
package httpxtest
