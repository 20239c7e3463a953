// Package bench compares the engine with other in-process limiters. It is a module
// of its own, so that importing the engine does not require the others.
//
//	make bench
//
// Every comparison runs in rounds, ours and theirs one after the other in each,
// and reports the median of the rounds' ratios: on a shared machine single
// figures move far more than ratios do.
package bench
