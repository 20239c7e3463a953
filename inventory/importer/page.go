package importer

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// rowMemory is the memory of a row whose values are packed, in bytes, with what an import remembers of it.
const rowMemory = 350

// page has the values of consecutive rows, compressed: all rows of a transaction are kept until it commits.
type page []byte

// pack checks the rows of the batch that are not packed, and packs them.
func (m *run) pack(ctx context.Context) error {
	rows, err := m.check(ctx, m.batch[m.packed:])
	if err != nil {
		return err
	}
	m.batch = append(m.batch[:m.packed], rows...)
	if len(m.batch) < batchRows {
		return nil // few rows need no compression
	}
	var text []byte
	member := func(doc []byte) { text = append(binary.AppendUvarint(text, uint64(len(doc))), doc...) }
	for _, row := range rows {
		row.from = len(text)
		member(row.Text)
		text = binary.AppendUvarint(text, uint64(len(row.Patch)))
		for name, doc := range row.Patch {
			member([]byte(name))
			member(doc)
		}
	}
	var packed bytes.Buffer
	if m.zip == nil {
		m.zip, err = flate.NewWriter(&packed, flate.BestSpeed)
	}
	if err == nil {
		m.zip.Reset(&packed)
		_, _ = m.zip.Write(text) // a buffer does not fail, as in the next line
		err = m.zip.Close()
	}
	p := page(bytes.Clone(packed.Bytes()))
	for _, row := range rows {
		row.page = &p
	}
	unload(rows)
	m.packed = len(m.batch)
	return errors.Join(err, m.hold(len(p)+len(rows)*rowMemory))
}

// hold asks for memory.
func (m *run) hold(bytes int) error {
	if m.opts.Hold == nil {
		return nil
	}
	return m.opts.Hold(int64(bytes))
}

// load unpacks the values of rows.
func load(rows []*Row) error {
	for len(rows) > 0 {
		p := rows[0].page
		n := slices.IndexFunc(rows, func(row *Row) bool { return row.page != p })
		if n < 0 {
			n = len(rows)
		}
		if p != nil {
			text, err := io.ReadAll(flate.NewReader(bytes.NewReader(*p)))
			if err != nil {
				return err
			}
			for _, row := range rows[:n] {
				row.unpack(text[row.from:])
			}
		}
		rows = rows[n:]
	}
	return nil
}

func (row *Row) unpack(text []byte) {
	number := func() uint64 {
		n, size := binary.Uvarint(text)
		text = text[size:]
		return n
	}
	member := func() (doc []byte) {
		n := number()
		doc, text = text[:n:n], text[n:]
		return doc
	}
	row.Text, row.Patch = member(), records.Patch{}
	for range number() {
		name := string(member())
		row.Patch[name] = json.RawMessage(member())
	}
}

// unload drops the values of packed rows.
func unload(rows []*Row) {
	for _, row := range rows {
		if row.page != nil {
			row.Text, row.Patch = nil, nil
		}
	}
}
