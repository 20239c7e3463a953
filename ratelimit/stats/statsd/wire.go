package statsd

import "context"

// kind is what sort of statistic a sample is of.
type kind uint8

const (
	counterKind kind = iota
	gaugeKind
	timerKind
)

// label is what is the same in all lines of a statistic: what stands before the
// value, and what stands after all the rest. A statistic without a head cannot be sent.
type label struct{ head, tail string }

// sample is what one line says.
type sample struct {
	label label
	kind  kind
	value uint64  // a delta, a value, or milliseconds
	rate  float64 // of a timer, if it is less than 1: which part of the calls has a line
}

// dialect is how statistics are written.
type dialect interface {
	// label prepares the lines of a statistic. What it returns says nothing that could
	// be taken for the end of a line or for another statistic.
	label(name string) label
	// begin is called before the first line of each flush.
	begin()
	// line appends the line of a sample.
	line(b []byte, s sample) []byte
	// end appends what closes a flush, if anything does.
	end(b []byte) []byte
}

// carrier is how lines get to where they are wanted.
type carrier interface {
	// open gets ready for a flush and limits how long it may take. It connects if that
	// is needed, unless ctx ends.
	open(ctx context.Context) error
	// send sends lines, which end where ends says, and returns how many of them have
	// been taken, even if others were not. The carrier is closed after an error.
	send(lines []byte, ends []int) (int, error)
	// close lets go of the connection. It may be opened again.
	close()
}
