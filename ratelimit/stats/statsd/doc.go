// Package statsd sends the statistics of a [stats.Registry] where they are collected:
// to a statsd daemon, to an agent that knows tags, or to a log.
//
//	sink, err := statsd.New(registry, "localhost:8125", &statsd.Options{FlushInterval: 10 * time.Second})
//	...
//	err = sink.Run(ctx)
//
// [New] speaks the plain push protocol over TCP or UDP, with tags as a part of names
// (specification, "Statistics"; reference 1.14). [NewAgent] sends tags of their own and
// maps names by each [Mogrifier]. [NewWriter] writes the same as JSON, a line each. Several
// sinks may share a registry.
//
// At each flush a sink sends how far each counter has come since what it sent last, if
// it has; the value of each gauge; and a line for each call of a timer, in whole
// milliseconds. In names, ":", "|" and control characters become "_".
//
// # What can be lost
//
// Over TCP, a line counts as sent when the system has taken all of it, up to the last
// byte. What has not been sent is kept, and goes with the next flush that can be sent:
// an outage loses nothing. Nothing but what the system had taken and the daemon had not
// read when it, or the network, went away is lost. Nothing is sent twice to a daemon
// that ignores a line without an end, as it should.
//
// Over UDP nobody says what has arrived. When the port is refused, some 32 KiB of lines
// before that are sent again, once somebody listens; so an outage on a host that is up
// loses at most what was sent just before it, and the lines around its beginning can
// arrive twice.
//
// In an outage that is longer than the registry keeps a name that is no longer used,
// the counts of 10,000 such names are kept. What is lost beyond that is in the log.
//
// # Design notes
//
// There is one flusher. Protocols are dialects, which know how a line looks, and
// carriers, which know how it travels and how much of it has been taken.
//
// There is no queue. For a counter the sink remembers what it is owed, for a timer how
// often each duration was measured: memory is bounded by the number of statistics,
// however long an outage is. A queue of lines would have to drop some.
//
// On the path of a decision is one atomic addition, for a timer. A line per call, when
// there are hundreds of thousands between two flushes, would cost more than the calls;
// beyond Options.MaxTimerLines their sorted durations are sampled evenly, not at random,
// so the sample has the percentiles of the whole.
//
// The agent's own client library was turned down. It takes the rate of a measurement as
// a wish to drop some at random, so a sample that has been drawn already cannot be sent
// with it; and it does not say which lines have been sent.
//
// A read waits on every connection, because that is where the end of a TCP
// connection and the refusal of a UDP port are told. It is noticed before the next
// flush and not by losing it.
package statsd
