// Ratelimit-load puts load on a v3 rate limit service and reports the rate of its responses, their
// latency, and the CPU time of its processes per call. It works with any service with the gRPC
// method
//
//	/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
//
// without TLS. It can also serve the baseline: a bare grpc-go server with a constant response. The
// ratio of a service to the baseline is the cost of its decisions; a figure without the baseline of
// the same run mostly describes the machine.
//
// # Example
//
// Start a baseline and load it:
//
//	$ ratelimit-load -serve-baseline 127.0.0.1:9001 &
//	baseline listens on 127.0.0.1:9001, pid 4242
//
//	$ ratelimit-load -addr 127.0.0.1:9001 -pids 4242 -duration 5s
//	target     127.0.0.1:9001, 4 connections, 64 in flight, closed loop
//	calls      375473 in 5.001 s, 75081 a second
//	responses  OK 375473, OVER_LIMIT 0, UNKNOWN 0
//	errors     none
//	latency    p50 0.733 ms, p90 1.450 ms, p99 2.998 ms, p99.9 4.948 ms, max 7.994 ms
//	cpu        12.60 us a call, process 4242
//	cpu        9.75 us a call, the generator
//
// Compare it with another target. A second baseline shows the noise of the machine:
//
//	$ ratelimit-load -serve-baseline 127.0.0.1:9002 &
//	baseline listens on 127.0.0.1:9002, pid 4243
//
//	$ ratelimit-load -compare base=127.0.0.1:9001:4242,again=127.0.0.1:9002:4243 -duration 2s
//	medians of 5 rounds; ratios to base
//	  target  calls/s  ratio  cpu us/call  ratio  p50 ms  ratio  p99 ms  ratio  failed
//	    base    42696  1.000        14.41  1.000   1.188  1.000   5.997  1.000       0
//	   again    43003  0.953        14.62  1.015   1.237  1.083   5.800  1.011       0
//
// CPU per call is the most reliable figure, because other load on the machine affects it least. A
// target may have several processes, such as a service and its store; their CPU time is added:
// ours=127.0.0.1:8081:4711+4720.
//
// # Requests
//
// Every request has the domain of -domain and -descriptors descriptors of one entry each. The key
// is -entry, and the values are the numbers from 0 to -keys minus one. With the default flags a
// service needs this configuration to count:
//
//	domain: load
//	descriptors:
//	  - key: key
//	    rate_limit: {unit: minute, requests_per_unit: 1000000}
//
// -distribution chooses the value of a call: uniform; zipf, where value k has the weight
// 1/(1+k)^1.1; hot, one value for all calls; sequence, one after the other. The choices depend on
// -seed only.
//
// # Closed and open loop
//
// The closed loop keeps -concurrency calls in flight: a worker sends the next call after a
// response. It finds the capacity of a service, but slows down with a service that stalls, so its
// latencies are too optimistic.
//
// With -rate the loop is open: calls have scheduled times, and the latency starts at the scheduled
// time whether or not the call could be sent then. At most -concurrency calls are in flight; a call
// that is due waits for a free worker, and one that is never sent counts as missed. "sent late by"
// is the delay before sending: 0.1 ms of it is the generator's clock, more is a lack of workers.
//
// # Counting
//
// Calls with a decision count for the rate, the latencies and the CPU per call. Errors are counted
// by status code, and calls still active a second after the last one was sent as unfinished.
// Latencies are at most 0.2 % too long; the maximum is exact.
//
// The warm-up is not counted, nor is one call per connection before it, which checks that the
// service is reachable. A run ends after -duration or -calls, or with a signal, and prints its
// results. CPU times need the proc file system of Linux. Their unit is 10 ms, so measure for
// several seconds. With -format json the report is one JSON object with times in microseconds.
//
// Progress is printed on the standard error stream: on a terminal in one line, else every 5 seconds.
// There is a warning if no response has a limit: then the service has no rule for the requests,
// and the figures do not include the cost of counting.
//
// Exit codes: 0, also after a signal; 1 if the service is unreachable, no call was completed or a
// process ended; 2 for wrong usage.
//
// # Design notes
//
// The generator must not be the bottleneck. Requests are encoded in advance; a codec passes the
// bytes to grpc-go and reads one field of the response. The rest is transport, at about 0.8 of the
// baseline's CPU. A hand-written HTTP/2 client would be cheaper but behave differently from real
// clients.
//
// A measurement begins and ends without calls in flight, so that the CPU time belongs to the
// counted calls. Calls have no deadline, which would need a timer per call on both sides; the run
// as a whole is bounded.
//
// Ratios are computed within a round, and the median of the rounds is reported: slow seconds of a
// shared machine affect all targets of a round, whose order is reversed each time. A ratio of two
// medians would combine figures of different moments.
//
// A worker waits for its scheduled time in the kernel, one worker at a time. Timers of the Go
// runtime are up to a millisecond late in an idle process, ten times the duration of a call, and
// spinning would take a core from the service.
//
// The baseline has no options, because tuning it would change every ratio.
package main
