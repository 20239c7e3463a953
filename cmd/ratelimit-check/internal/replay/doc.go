// Package replay reads an access log and reports which of its requests rate limits would have
// refused:
//
//	report, err := replay.Run(ctx, log, rules, nil)
//	...
//	fmt.Println(report.Result.Refused, "of", report.Requests, "requests would have been refused")
//
// For each rule the report has the requests, how many of them were over the limit and when, the
// worst keys and clients, and, for fixed windows, the smallest limit that would have refused none. With
// Options.Against it compares two configurations. Command ratelimit-check prints it as text or
// JSON.
//
// # Logs
//
// A log has one line for each request: an object of JSON, as Envoy and many others write it, or text:
// the combined or common log format of web servers, also with the host in front, the format that Envoy or
// Istio writes if none is configured, or that of AWS load balancers. The format is detected from the first
// lines, and compression with gzip from the first bytes. A [Mapping] says which descriptors a line stands for:
//
//	domain: shop              # may be left out if the configuration has only one
//	time: start_time          # default: time, ts, timestamp and other usual names
//	client: headers.x-api-key # names the worst clients; default: remote_address
//	descriptors:
//	  - entries:
//	      - {key: client, field: headers.x-api-key, default: anonymous}
//	      - {key: path, field: path, segments: 2}
//	    when:
//	      - {field: method, in: [POST, PUT]}
//	      - {field: path, prefix: /health, not: true}
//	  - entries:
//	      - {key: generic_key, value: all}
//	    hits: {field: bytes}
//
// The value of an entry is a constant, or a field of the log as a whole, the part that an
// expression matches or its first group (regexp), the longest matching prefix of a list (prefixes),
// or the first segments of a path. A descriptor of which an entry has no value, or a condition does
// not hold, is left out. Without a mapping, each key of a rule is the field of the same name:
// see [DefaultMapping]. Usual fields are found by the names that common servers give them. The report names
// descriptors that no line makes, with the fields that lines have.
//
// # Order and time
//
// Requests are decided in the order of the log, each at its own time. A line that is older than one
// before it is counted in its own window, as long as that ended at most 15 minutes before the line
// that was read last.
//
// Sliding windows and token buckets have a state instead of a counter for each window, in which such
// a line counts as if it were not older. Limits of requests at the same time (concurrency) refuse
// none: a log does not tell when requests end.
//
// # Memory
//
// Memory is bounded whatever the log. Counters of windows that have ended are dropped. If more than
// MaxCounters are needed at a time, those with the fewest hits are dropped, and CountersDropped says
// how many. Of keys and of clients MaxKeys have figures of their own; beyond that, the half with the
// fewest requests over the limit is forgotten, and KeysMissing bounds the requests over the limit
// that a key may lack because of that. Figures of rules do not depend on it.
//
// # Design notes
//
// The engine itself decides, with a clock that is set to the time of each line, so a replay can't
// disagree with the service. Only the store is another one: package memstore drops a window two
// seconds after its end, which is too soon for logs, whose lines are written when a request has ended.
//
// Lines are read and decided one by one. Reading them concurrently would save less than half of the time, and takes
// as many lines of code as the rest of the reader.
package replay
