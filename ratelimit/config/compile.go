package config

import (
	"errors"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// translateError finds in the files what is wrong in the domains.
func translateError(docs []*document, err error) []*Fault {
	if err == nil {
		return nil
	}
	var faults ratelimit.Faults
	if !errors.As(err, &faults) {
		return []*Fault{{File: "configuration", Reason: err.Error(), Cause: err}}
	}
	return translate(docs, faults)
}

func translate(docs []*document, faults []*ratelimit.Fault) []*Fault {
	var out []*Fault
	for _, f := range faults {
		doc := docs[f.Source]
		at, bad := doc.root.down(f.Path).find(f.Field)
		if bad {
			continue
		}
		reason := f.Reason
		if f.Other != nil {
			reason += " (the other is at " + otherPlace(docs, f) + ")"
		}
		out = append(out, &Fault{File: doc.file, Line: at.line, Column: at.column, Reason: oneLine(reason, maxReason)})
	}
	return out
}

func otherPlace(docs []*document, f *ratelimit.Fault) string {
	doc := docs[f.Other.Source]
	at, _ := doc.root.down(f.Other.Path).find(f.Field)
	return (&Fault{File: doc.file, Line: at.line, Column: at.column}).place()
}
