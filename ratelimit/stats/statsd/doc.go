// Package statsd sends the statistics of a [stats.Registry] to a statsd daemon, to an
// agent that supports tags, or to a log.
//
//	sink, err := statsd.New(registry, "localhost:8125", &statsd.Options{FlushInterval: 10 * time.Second})
//	...
//	err = sink.Run(ctx)
//
// [New] sends the plain push protocol over TCP or UDP, in which tags are part of the
// names (REFERENCE.md, 5.4). [NewAgent] sends tags separately and maps names by each
// [Mogrifier]. [NewWriter] writes the same as JSON objects, one for each line. Several
// sinks may share a registry.
//
// A flush contains the delta of every counter that has changed, the value of every
// gauge, and a line in whole milliseconds for each call of a timer. In names, ":", "|"
// and control characters become "_".
//
// # Delivery
//
// Over TCP, a line counts as sent when the kernel has accepted it completely. What was
// not sent is retained and sent with the next successful flush. Lost is only what the
// kernel had accepted and the daemon had not read when it or the network failed.
// Nothing is counted twice by a daemon that ignores an unterminated line, as daemons do.
//
// Over UDP there are no acknowledgements. If the port is refused, the last batch of up
// to 32 KiB of lines is sent again later. A failure on a host that is up therefore
// loses at most what was sent just before it, and may duplicate the lines of one batch.
//
// During a failure that lasts longer than the registry retains unused names, the
// counts of 10,000 such names are retained. Further losses are logged.
//
// When Run ends and the last flush fails, the log states how many counts and calls are
// lost: as a warning if the daemon was reached before, and otherwise as information.
//
// # Design notes
//
// There is one flush for all protocols. A format determines how a line is written, a
// transport how it is delivered and how many lines were accepted.
//
// There is no queue. A sink stores what was not sent of each counter, and how many
// calls of each duration were sent of each timer: memory is bounded by the number of
// statistics, however long a failure lasts. A queue of lines would have to drop some.
//
// A sink adds nothing to the path of a decision: at each flush it compares the timers'
// histograms with what it has sent. A line for each call would cost more than the calls
// when there are hundreds of thousands between two flushes. Beyond
// Options.MaxTimerLines, durations are sampled at even distances in sorted order and
// not at random, so that the sample has the percentiles of all calls.
//
// The agent's own client library (DataDog/datadog-go) was turned down. It applies the
// sample rate of a call by dropping calls at random, so it cannot send a sample that
// has been drawn already, and it does not report which lines were sent.
package statsd
