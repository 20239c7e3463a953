package plan

// Way selects how the records of some places (records.Query.Only) are found.
type Way uint8

// The ways.
const (
	ByDatabase  Way = iota // as the database chooses, if the field of the place has an index
	FromRecords            // in their order, or by other filters; each is followed to its place
	FromPlaces             // by the references that lead to the places
)

// MatchingPart is a guess: one of so many records matches a filter that is not one of few records.
const MatchingPart = 8

// Places has the numbers on which the Way depends.
type Places struct {
	Records     float64 // of the resource
	Roots, Near float64 // records with a place, from which those of the resource are reached; and those in the places
	Share       float64 // of the records with a place that are in the places
	References  float64 // that lead from the places to the records
}

// Choose returns the way to a number of records, and to all in the places if they are sorted afterwards.
func (p *Places) Choose(wanted float64, sorted bool) Way {
	records := min(p.Records, wanted/p.Share)
	places := p.Near * p.References
	if sorted {
		places += p.Records * p.Share / MatchingPart // entries of an index
	} else {
		places = min(places, wanted*p.Roots/p.Records*p.References)
	}
	if places <= records {
		return FromPlaces
	}
	return FromRecords
}
