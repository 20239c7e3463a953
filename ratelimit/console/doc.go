// Package console is web pages about rate limits: the active rules with live rates, a form to try requests, the
// configuration with its faults, and health. It is an http.Handler for any program with a ratelimit.Engine:
//
//	pages, err := console.New(engine, &console.Options{Prefix: "/limits"})
//	...
//	mux.Handle("/limits/", http.StripPrefix("/limits", pages))
//	go pages.Sample(ctx) // so that pages show the last minutes as soon as they are opened
//
// ratelimitd serves it at /console/ of its debug port.
//
// # Pages
//
//	/                     the rules of each domain with allowed, near and refused hits a second; filter and order
//	/rules/{id}           a rule: how it counts, hits since the start, quotas of clients, its busiest keys
//	/try                  which rule applies to a request and why; sends requests; resets counters
//	/configuration        origin, last load, faults and warnings at their lines
//	/health               parts, the counter store, durations, numbers
//
// Requests that the form sends go through the engine like all others: they use up limits and count in statistics. They are at
// most 100 at a time, from one page at a time.
//
// # Security
//
// There is no sign-in: everybody who reaches the handler reads the pages and sends requests, so mount it where that is
// meant. Counters are reset with a token, Options.ResetToken, over TLS or a loopback address without a proxy only; after
// ten wrong ones an address can try no others until the minute ends (httpx.TokenGuard). Each reset, and each refusal, is logged. Forms have a token
// against requests of other pages. The program checks the host, as httpx.Hosts does.
//
// Keys and values come from clients and are escaped. Pages list at most 200 rules; requests, files and texts are bounded.
//
// # Design notes
//
// Console.Sample reads the counters every two seconds, in a goroutine of the program, so that a page that is opened shows
// what was before. Without it, rates begin when a page is opened. What was counted between two samples is spread evenly over
// the time between. A sample of 10,000 rules reads their counters once, in about a millisecond; decisions are not stopped.
// A rule with hits in the last three minutes takes 1.1 kB, 10,000 rules at most; others have a current rate only.
//
// A rule whose statistics depend on the request (detailed_metric, value_to_metric) has no rate of its own; its busiest
// keys show its hits.
//
// Files are shown and not edited: they are in version control or a ConfigMap, an editor has the schema, and command
// ratelimit-check tells what a change would refuse.
package console
