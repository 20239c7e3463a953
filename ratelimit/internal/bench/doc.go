// Package bench compares the engine with other in-process limiters. It is a module
// of its own, so that importing the engine does not require the others.
//
//	make bench
//
// Every comparison runs in short rounds, which take turns, and reports the ratio of the fastest
// rounds: other work on the machine only adds time. Load that lasts, and the frequency of the
// processor, are the same for both.
//
// What limits a decision on one key, 71 ns beside go-limiter's 88: it takes 1,100 instructions
// (valgrind --tool=callgrind), half of what it took before package ratelimit had decide_plain.go. About 300 of
// them build the counter's key and hash it, 250 find the counter, 250 match the rule, and the
// rest fill in the request to the store and the status. go-limiter takes 320 instructions, but four
// locked ones and a reading of the clock, where a decision has one locked instruction, and one more
// with statistics, 7 ns: a locked instruction waits for all stores before it. With many keys
// both wait for the cache most of the time: a decision for the text of the key, the tag and the counter.
//
// So the ratio depends on the processor. On another one, where a locked instruction takes 2 ns and not 7,
// one key takes 67 ns beside go-limiter's 68, and 71 with statistics.
package bench
