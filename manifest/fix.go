package manifest

import (
	"cmp"
	"slices"
)

// Fix returns a copy of the document that the problems were found in, with their
// fixes applied, and how many those were. Of fixes that overlap only the first is
// applied; what is outside of the data is left out. All else stays as it is, white
// space too. Look at the result before it replaces anything: a fix is what was most
// likely meant.
func (ps Problems) Fix(data []byte) (fixed []byte, applied int) {
	var edits []Edit
	for i := range ps {
		if e := ps[i].Fix; e != nil {
			edits = append(edits, *e)
		}
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Offset, b.Offset) })
	done := 0
	for _, e := range edits {
		if e.Offset < done || e.End < e.Offset || e.End > len(data) {
			continue
		}
		fixed = append(append(fixed, data[done:e.Offset]...), e.Text...)
		done = e.End
		applied++
	}
	return append(fixed, data[done:]...), applied
}
