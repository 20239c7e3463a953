// Package registrytest is the conformance suite of stores of package registry.
//
//	func TestStore(t *testing.T) {
//		registrytest.Run(t, func(t *testing.T) registry.Store { return registry.NewMemStore(nil) })
//	}
//
// A store that also has the methods of [Mirror] is tested as the target of a mirror. [Entries] makes up entries,
// for tests and measurements.
package registrytest
