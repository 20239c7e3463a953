package main

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/ashlar-go/ashlar/inventory/collect"
)

// writer prints devices in a format.
type writer interface {
	device(r *collect.Result) error
	end() error // ends the document, also after an error
}

func (o *options) writer(out io.Writer) writer {
	buffered := bufio.NewWriter(out)
	if o.format == "jsonl" {
		return &recordsWriter{buffered, json.NewEncoder(buffered)}
	}
	return &tablesWriter{out: buffered}
}

// recordsWriter prints rows of an import as JSON lines.
type recordsWriter struct {
	out     *bufio.Writer
	encoder *json.Encoder
}

func (w *recordsWriter) device(r *collect.Result) error {
	for _, row := range r.Records() {
		if err := w.encoder.Encode(row); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

func (w *recordsWriter) end() error { return w.out.Flush() }

// tablesWriter prints an object with all tables, a table on each line.
type tablesWriter struct {
	out   *bufio.Writer
	count int
}

func (w *tablesWriter) device(r *collect.Result) error {
	for _, table := range r.Tables() {
		doc, err := json.Marshal(table)
		if err != nil {
			return err
		}
		w.next()
		_, _ = w.out.Write(doc) // Flush returns its error
	}
	return w.out.Flush()
}

// next prints what is before a table.
func (w *tablesWriter) next() {
	before := ",\n"
	if w.count == 0 {
		before = `{"tables":[` + "\n"
	}
	w.count++
	_, _ = w.out.WriteString(before)
}

func (w *tablesWriter) end() error {
	if w.count == 0 {
		_, _ = w.out.WriteString(`{"tables":[`)
	}
	_, _ = w.out.WriteString("]}\n")
	return w.out.Flush()
}
