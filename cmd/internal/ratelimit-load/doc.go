// Ratelimit-load puts load on v3 rate limit services and reports the rate of their responses, their latency, and the
// CPU time of their processes per call. The script table beside it, which make table runs, measures ratelimitd with
// each kind of store. It can also serve the baseline: a bare grpc-go server with a constant response. The ratio of a
// service to the baseline is the cost of its decisions; a figure without the baseline of the same run mostly describes
// the machine.
//
// # Example
//
// Start two baselines and compare them, which shows the noise of the machine:
//
//	$ go run ./cmd/internal/ratelimit-load -serve-baseline 127.0.0.1:9001 &
//	baseline listens on 127.0.0.1:9001, pid 4242
//
//	$ go run ./cmd/internal/ratelimit-load -serve-baseline 127.0.0.1:9002 &
//	baseline listens on 127.0.0.1:9002, pid 4243
//
//	$ go run ./cmd/internal/ratelimit-load -compare base=127.0.0.1:9001:4242,again=127.0.0.1:9002:4243 -duration 2s
//	medians of 5 rounds; ratios to base
//	  target  calls/s  ratio  cpu us/call  ratio  p50 ms  ratio  p99 ms  ratio  failed
//	    base    42696  1.000        14.41  1.000   1.188  1.000   5.997  1.000       0
//	   again    43003  0.953        14.62  1.015   1.237  1.083   5.800  1.011       0
//
// CPU per call is the most reliable figure, because other load on the machine affects it least. A
// target may have several processes, such as a service and its store; their CPU time is added:
// ours=127.0.0.1:8081:4711+4720. CPU times need the proc file system of Linux. Their unit is 10 ms, so measure for
// several seconds.
//
// Without -compare, one service is loaded, and the report is a JSON object.
//
// # Requests
//
// Every request has the domain of -domain and -descriptors descriptors of one entry each. The key
// is -entry, and the values are the numbers from 0 to -keys minus one. -distribution chooses the value of a call:
// uniform; hot, one value for all calls; sequence, one after the other.
//
// # Closed and open loop
//
// The closed loop keeps -concurrency calls in flight: a worker sends the next call after a
// response. It finds the capacity of a service, but slows down with a service that stalls, so its
// latencies are too optimistic.
//
// With -rate the loop is open: calls have scheduled times, and the latency starts at the scheduled
// time whether or not the call could be sent then. At most -concurrency calls are in flight; a call
// that is due waits for a free worker.
//
// # Counting
//
// Calls with a decision count for the rate, the latencies and the CPU per call. Errors are counted
// by status code, and calls still active a second after the last one was sent as unfinished.
// Latencies are at most 0.2 % too long; the maximum is exact.
//
// The warm-up is not counted, nor is one call per connection before it, which checks that the
// service is reachable. A run ends after -duration or -calls, or with a signal, and prints its
// results.
//
// # Design notes
//
// The generator must not be the bottleneck. Requests are encoded in advance, and a response
// is decoded into a message that its worker keeps. The rest is transport, at about 0.85 of the baseline's CPU. A hand-written HTTP/2 client would be cheaper but behave differently from real
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
