// Package exchange has the pages of the console for imports of files and for drift, the differences between
// what devices report and the inventory.
//
// Nothing is kept between the steps of either page: the file travels with the form, compressed, and the API
// reads it again in each step. Files that are too large for that are chosen again.
package exchange

import (
	"embed"

	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
		{Pattern: "GET /drift", Handle: showDrift},
		{Pattern: "POST /drift", Handle: runDrift},
		{Pattern: "GET /drift/devices", Handle: suggestDevices},
	}}
}

// steps has the parts that the pages of imports and of drift share.
type steps struct {
	Step     string
	Fault    string // why the step failed
	Problems []string
	Pasted   string // the text of the form, after a fault
	Kept     string // the file, packed; empty if it must be chosen again
}

// StepTitle returns the title of the step.
func (s *steps) StepTitle() string {
	return map[string]string{
		stepFile: "File", stepColumns: "Columns", stepTable: "Output", stepCompare: "Differences", stepPreview: "Preview", stepResult: "Result",
	}[s.Step]
}

// fail goes to a step with what the API says about the file. It reports whether that is a refusal.
func (s *steps) fail(step string, err error) (*site.Fault, bool) {
	fault, ok := site.Refused(err)
	if !ok {
		return nil, false
	}
	s.Step, s.Fault, s.Problems = step, fault.Message, nil
	for _, field := range fault.Fields {
		s.Problems = append(s.Problems, field.Field+": "+field.Reason)
	}
	return fault, true
}
