package server

import "github.com/ashlar-go/ashlar/inventory/auth"

// Cheap has the hashes of passwords cost almost nothing.
func (o *Options) Cheap() *Options {
	o.passwordCost = auth.Cost{Memory: 8, Time: 1, Parallelism: 1}
	return o
}
