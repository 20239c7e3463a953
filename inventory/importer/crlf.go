package importer

import (
	"bufio"
	"encoding/csv"
)

// crlf reads CSV for csv.Reader, which drops the CR of each CR LF, also within quotation marks. There it
// doubles the CR, so that one is left. It follows csv.Reader in what is within quotation marks, also after
// a row that is wrong, which ends with its line.
type crlf struct {
	in      *bufio.Reader
	comma   byte // between cells
	state   cellState
	cr      bool // the last byte was a CR
	doubled bool // and it is doubled
}

// cellState is the position of a byte within CSV.
type cellState uint8

const (
	cellStart  cellState = iota
	cellPlain            // in a cell without quotation marks
	cellQuoted           // within quotation marks
	cellQuote            // after the second one, or the first of two that stand for one
	rowWrong             // after an error, up to the end of the line
)

func newCRLF(in *bufio.Reader, comma byte) *csv.Reader {
	r := csv.NewReader(&crlf{in: in, comma: comma})
	r.Comma, r.FieldsPerRecord = rune(comma), -1
	r.LazyQuotes = comma == '\t' // spreadsheets copy a cell with 24" as it is
	return r
}

// Read reads up to the end of what is buffered.
func (c *crlf) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || c.in.Buffered() > 0) {
		b, err := c.in.ReadByte()
		if err != nil {
			return n, err
		}
		if b == '\n' && c.state == cellQuoted && c.cr && !c.doubled {
			if err := c.in.UnreadByte(); err != nil {
				return n, err
			}
			b, c.doubled = '\r', true
		} else {
			c.state, c.doubled = c.state.next(b, c.comma), false
		}
		p[n], c.cr = b, b == '\r'
		n++
	}
	return n, nil
}

// next returns the state after a byte.
func (s cellState) next(b, comma byte) cellState {
	switch {
	case s == cellQuoted && b == '"':
		return cellQuote
	case s == cellQuoted, s == cellQuote && b == '"':
		return cellQuoted
	case b == '\n':
		return cellStart
	case s == rowWrong:
		return rowWrong
	case b == comma:
		return cellStart
	case s == cellStart && b == '"':
		return cellQuoted
	case b == '"', s == cellQuote:
		return rowWrong
	}
	return cellPlain
}
