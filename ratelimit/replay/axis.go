package replay

// buckets is how many parts the time of a log is divided into for charts.
const buckets = 240

// axis divides the time from start into buckets of equal width, which grows with the log: the
// memory of a series does not depend on the log's length.
type axis struct {
	start, width int64 // Unix seconds, seconds; width is 0 before the first time
	series       []*series
}

// series is the number of requests, and of those over the limit, in each bucket.
type series struct{ requests, over [buckets]uint64 }

func (a *axis) add() *series {
	s := &series{}
	a.series = append(a.series, s)
	return s
}

// bucket returns the bucket of a time, and makes the axis wider if necessary.
func (a *axis) bucket(second int64) int {
	if a.width == 0 {
		a.start, a.width = second, 1
	}
	for second >= a.start+buckets*a.width {
		a.widen(0)
	}
	for second < a.start {
		a.start -= buckets * a.width
		a.widen(buckets / 2)
	}
	return int((second - a.start) / a.width)
}

// widen doubles the width. The buckets so far become those from first on.
func (a *axis) widen(first int) {
	a.width *= 2
	for _, s := range a.series {
		fold(&s.requests, first)
		fold(&s.over, first)
	}
}

func fold(counts *[buckets]uint64, first int) {
	var wide [buckets]uint64
	for i, n := range counts {
		wide[first+i/2] += n
	}
	*counts = wide
}
