// Package health puts the states of components together: the whole is healthy only
// when every component is (specification, "States and transitions").
//
//	h := health.New(nil)
//	config := h.Component("configuration", false)
//	h.Notify(endpoint.Set) // a func(bool): told the state now, and each change
//	config.Set(true, "3 domains loaded")
//
// Which components there are is up to the program, and so is who is told: this
// package knows no protocol.
//
// # Design notes
//
// A listener is told in the goroutine of the Set that made the change, or of one that
// is telling it already. There is no goroutine to stop, and a listener that calls Set
// itself can't wait for itself. The price is that Set may return before a listener is
// told, when another goroutine is telling it.
//
// Each change is told, also one that has been undone since: a listener that counts
// how often the service was away would miss it otherwise. The states alternate, so
// what a slow listener has still to hear is one number and can't grow without bound.
//
// A component without a name, or with the name of another, is a mistake in the program
// and panics, as two handlers for one pattern do. An error would be one that nobody
// can do anything about.
package health
