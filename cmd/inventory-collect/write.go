package main

import (
	"bufio"
	"encoding/json"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
)

// writer prints devices: rows of an import as JSON lines, or an object with all tables, a table on each line.
type writer struct {
	out    *bufio.Writer // Flush returns the errors of all methods
	tables bool
	begun  bool // a table was printed
}

// device prints a device.
func (w *writer) device(r *collect.Result) error {
	rows := r.Records()
	if w.tables {
		rows = nil
		for _, table := range r.Tables() {
			rows = append(rows, table)
		}
	}
	for _, row := range rows {
		doc, err := json.Marshal(row)
		if err != nil {
			return err
		}
		switch {
		case !w.tables:
			doc = append(doc, '\n')
		case w.begun:
			_, _ = w.out.WriteString(",\n")
		default:
			_, _ = w.out.WriteString(`{"tables":[` + "\n")
		}
		_, _ = w.out.Write(doc)
		w.begun = true
	}
	return w.out.Flush()
}

// end ends the document, also after an error.
func (w *writer) end() error {
	if w.tables && !w.begun {
		_, _ = w.out.WriteString(`{"tables":[`)
	}
	if w.tables {
		_, _ = w.out.WriteString("]}\n")
	}
	return w.out.Flush()
}
