// Package modeltest has only tests: they check the rate limit engine against a model of it: the
// rules of REFERENCE.md in the simplest code, without an index, and sharing no code with
// the engine.
//
// Engine and model get the same random rules, options and requests, from
// alphabets so small that collisions are frequent, while a clock
// advances. After each request the decision, its statuses and metadata, the
// counters in the store and the statistics must be the same.
//
// # Design notes
//
// A test draws a script, which is plain data, and then plays it. Therefore failures shrink
// well and can be printed, and the tests of this package can play scripts on engines and
// stores with deliberate defects, to prove that the model detects them.
//
// Limits of other algorithms than fixed windows are applied by Charge.Apply in the model, too: the tests
// of package ratelimit compare that with exact models. The model derives the terms of charges
// by itself, and the report to clients by asking what would pass at other times. A store that
// is no ratelimit.ChargeStore and ratelimit.SubtractStore plays scripts without them.
//
// The model is slow on purpose. It follows the text of REFERENCE.md, not the code of the
// engine: a mistake made in both would not be detected.
//
// Time begins in the year 2100, so that a store that expires counters by the
// real clock retains all of them during a script, and the jitter is an
// hour, for stores that expire counters after their last change. Hits are small
// enough for stores that count in 63 bits.
package modeltest
