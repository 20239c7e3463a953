// Package bench compares the engine with other in-process limiters. It is a module
// of its own, so that importing the engine does not require the others.
//
//	make bench
//
// Every comparison runs in short rounds, which take turns, and reports the ratio of the fastest
// rounds: other work on the machine only adds time. Load that lasts, and the frequency of the
// processor, are the same for both.
package bench
