package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of one row of JSON.
const (
	maxDepth  = 32
	maxValues = 10_000
)

// jsonSource reads JSON lines: an object a line.
type jsonSource struct{ *file }

// Next returns the next row.
func (s *jsonSource) Next() (*Row, error) {
	for {
		line, err := s.readLine()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return s.parse(line), nil
		}
	}
}

// readLine returns the next line.
func (f *file) readLine() (line []byte, err error) {
	f.bounded.n = 0
	for {
		part, err := f.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRow || f.bounded.over:
			return nil, f.fail(f.line+1, "the line is longer than 1 MiB")
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			f.line++
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case !errors.Is(err, errFull):
			return nil, err
		}
	}
}

// parse reads one object.
func (s *jsonSource) parse(line []byte) *Row {
	row := s.row(append(bytes.TrimRight(line, "\r\n"), '\n'))
	if len(row.Problems) > 0 {
		return row
	}
	doc := jsonpos.Parse(row.Text, &jsonpos.Limits{Depth: maxDepth, Values: maxValues, Problems: 3})
	for _, p := range doc.Problems {
		row.refuse("", fmt.Sprintf("%s (column %d)", p.Message, p.Offset+1))
	}
	if doc.Root == nil || len(row.Problems) > 0 {
		return row
	}
	if doc.Root.Kind != jsonpos.Object {
		row.refuse("", "is "+doc.Root.Kind.String()+": write an object in braces")
		return row
	}
	for _, m := range doc.Root.Members {
		row.Patch[m.Key] = json.RawMessage(doc.Text[m.Value.Start:m.Value.End])
	}
	if name, ok := row.Patch["_resource"]; ok {
		var text string
		if err := json.Unmarshal(name, &text); err != nil {
			row.refuse("_resource", records.WrongKind(records.Text).Reason)
			return row
		}
		s.setResource(row, text)
	}
	return s.finish(row)
}
