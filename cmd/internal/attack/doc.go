// Package attack tests the bounds of servers with hostile traffic: requests that stop before their
// end, headers that expand, clients that do not read.
//
//	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
//	defer cancel()
//	result, err := halfMessages(ctx, &target{Addr: addr, Connections: 3}, 100, 4<<20, 0)
//
// Each attack opens all its connections, sends what it has to send, and holds them open until the
// context ends. A connection that the server closes is opened again after a pause, as a persistent
// client would. The error is only about connections that could not be opened at first: a server that
// defends itself is not an error but a result.
//
// # Design notes
//
// The gRPC attacks write HTTP/2 frames themselves: a gRPC client library does not send half a
// message. They respect the flow control of streams, because servers reset streams that do not.
package attack
