// Ratelimit-load puts load on a v3 rate limit service and reports how many calls
// a second it answered, how long they took, and how much CPU time each of them
// cost its processes. It speaks to any service with the gRPC method
//
//	/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
//
// without TLS, and it can be a service itself: the floor, a bare grpc-go server
// that answers a constant. What a service costs more than the floor is what its
// decisions cost; without the floor beside it a figure says more about the
// machine than about the service.
//
// # A session
//
// Start a floor, and load it:
//
//	$ ratelimit-load -serve-floor 127.0.0.1:9001 &
//	floor listens on 127.0.0.1:9001, pid 4242
//
//	$ ratelimit-load -addr 127.0.0.1:9001 -pids 4242 -duration 5s
//	target   127.0.0.1:9001, 4 connections, 64 in flight, closed loop
//	calls    375473 in 5.001 s, 75081 a second
//	answers  OK 375473, OVER_LIMIT 0, UNKNOWN 0
//	errors   none
//	latency  p50 0.733 ms, p90 1.450 ms, p99 2.998 ms, p99.9 4.948 ms, max 7.994 ms
//	cpu      12.60 us a call, process 4242
//	cpu      9.75 us a call, the generator
//
// Compare it with another target, here a second floor, which shows how far the
// machine can be trusted. This one was busy:
//
//	$ ratelimit-load -serve-floor 127.0.0.1:9002 &
//	floor listens on 127.0.0.1:9002, pid 4243
//
//	$ ratelimit-load -compare floor=127.0.0.1:9001:4242,again=127.0.0.1:9002:4243 -duration 2s
//	medians of 5 rounds; ratios to floor
//	  target  calls/s  ratio  cpu us/call  ratio  p50 ms  ratio  p99 ms  ratio  failed
//	   floor    42696  1.000        14.41  1.000   1.188  1.000   5.997  1.000       0
//	   again    43003  0.953        14.62  1.015   1.237  1.083   5.800  1.011       0
//
// CPU per call is the figure to go by: it moves least with what else the machine
// has to do.
//
// A target may have several processes, the service and its store, say; their CPU
// is added: ours=127.0.0.1:8081:4711+4720.
//
// # What is sent
//
// Every request asks about -domain, with -descriptors descriptors of one entry
// each: the key is -entry, the values are the numbers from 0 to -keys minus one.
// With the default flags a service needs this to have something to count:
//
//	domain: load
//	descriptors:
//	  - key: key
//	    rate_limit: {unit: minute, requests_per_unit: 1000000}
//
// -distribution says which value a call asks about: uniform; zipf, where value k
// is asked about in proportion to 1/(1+k)^1.1; hot, one value for all calls;
// sequence, one after the other. The choices depend on -seed alone.
//
// # Closed and open loop
//
// The closed loop keeps -concurrency calls in flight: the next is sent when one
// is answered. It finds what a service can do, but it slows down with a service
// that stalls, and so asks least often when answers are slowest: its latencies
// flatter.
//
// With -rate the loop is open: calls are scheduled by the clock, and the latency
// runs from the instant for which a call was scheduled, whether or not it could
// be sent then. At most -concurrency calls are in flight; a call that is due
// goes out when one of them ends, and one that never went out counts as missed.
// "sent late by" says how much of the latency was waiting before the sending:
// some 0.1 ms of it is the generator's own clock, more is a lack of free calls.
//
// # What is counted
//
// Calls are those that were answered with a decision; the rate, the latencies and
// the CPU per call are about them. Errors are counted by their status code beside
// them, and as unfinished what was still under way a second after the last call
// was sent. Latencies are at most 0.2 % too long (but the maximum is exact).
//
// The warm-up is not counted, and one call per connection before it, which proves
// that the service is there. A run ends after -duration or -calls, or with a
// signal, and then prints what it has. CPU times need the proc file system of
// Linux, and count in ticks of 10 ms: measure for seconds, not for moments.
//
// With -format json the report is one object on one line, its times in
// microseconds.
//
// Exit codes: 0, also after a signal; 1 if the service is not there, no call was
// answered or a process went away; 2 for wrong usage.
//
// # Design notes
//
// The generator must not be what is measured. Requests are encoded before the
// clock starts; a codec of its own hands the bytes to grpc-go and reads one field
// of the answer. What is left is the transport, at some eight tenths of the
// floor's CPU. A hand-written HTTP/2 client would be cheaper yet, but it would
// not behave on the wire as the clients of a service do.
//
// A measured stretch begins and ends with nothing in flight, so that the CPU time
// read before and after belongs to the calls counted, and to no others. Counting
// while the load runs through would need no pause but split calls at both ends.
//
// Calls carry no deadline: it would put a timer on every call, on both sides.
// The run as a whole is bounded instead.
//
// Ratios are taken within a round and the median over the rounds after that: a
// machine that others use has slow seconds, and these strike all targets of a
// round, and turn about as their order is reversed each time. The ratio of two
// medians would pair a slow second of one with a fast second of the other.
//
// Waiting for the clock blocks a thread in the kernel, one worker at a time. The
// timers of the Go runtime, in an idle process, are late by up to a millisecond,
// ten times what a call takes. Spinning would take a core from the service.
//
// The floor is as plain as it can be and has no options: tuning it would move the
// mark that everything is compared with.
package main
