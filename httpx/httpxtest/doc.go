// Package httpxtest makes tests of handlers short: requests that are sent within the
// process, and answers that say what was expected of them.
//
//	client := httpxtest.New(t, handler)
//	var book Book
//	client.Send("POST", "/api/books", Book{Title: "Emma"}).Want(201).JSON(&book)
//	client.Send("GET", "/api/books/none", nil).WantError(404, "Book not found")
//
// # Design notes
//
// There is no server and no port: a recorder takes the answer, so that tests run in
// parallel and in a synctest bubble. What needs a connection, such as an answer that is
// cut off, is tested with net/http/httptest itself.
//
// A wrong status ends the test, as nothing that follows would make sense; the whole
// answer is part of the failure.
package httpxtest
