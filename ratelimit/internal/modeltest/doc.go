// Package modeltest checks the rate limit engine against a model of it: the
// rules of REFERENCE.md written down as plainly as can be, without an
// index, a cache or a shortcut, and without a line in common with the engine.
//
// Engine and model are given the same random rules, options and requests, from
// an alphabet so small that everything collides with everything, while a clock
// moves on. After each request the decision, its statuses and metadata, the
// counters in the store and the statistics must be the same.
//
// [Run] is for the tests of a [ratelimit.Store]: whatever keeps the counters, the
// engine on top of it must decide as the model does.
//
//	func TestModel(t *testing.T) {
//		modeltest.Run(t, func() ratelimit.Store { return memstore.New(nil) })
//	}
//
// # Design notes
//
// A run is drawn as a script, which is plain data, and then played. So a failure
// shrinks well and prints whole, and the tests of this package can play scripts
// on engines and stores that were broken on purpose, to prove that the model
// would notice.
//
// The model is slow by intent. Where it seems to repeat the engine, it does so in
// the words of REFERENCE.md; where the two were written alike, a mistake in
// both would go unseen.
//
// Time is far in the future, so that a store that expires counters by the
// real clock keeps all of them while a script is played, and the jitter is an
// hour, for stores that expire counters after their last change. Hits are small
// enough for stores that count in 63 bits.
package modeltest
