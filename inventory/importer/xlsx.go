package importer

import (
	"archive/zip"
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of a workbook.
const (
	maxWorkbook = 16 << 20 // bytes
	maxUnpacked = 64 << 20
	cellMemory  = 4 // times what is unpacked, while it is read
)

// workbook reads the rows of a sheet.
type workbook struct {
	rows *excelize.Rows
	line int
}

// workbook returns the rows of the sheet for the resource.
func (f *file) workbook(r io.Reader) (w *workbook, err error) {
	const otherwise = "save it as .xlsx without a password, or as CSV (UTF-8)"
	defer func() {
		if recover() != nil { // the file is anybody's
			err = f.fail(1, "is a workbook that cannot be read: "+otherwise)
		}
	}()
	text, err := io.ReadAll(io.LimitReader(r, maxWorkbook+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxWorkbook {
		return nil, f.fail(1, "is a workbook of more than %d MiB: send parts of it, or CSV", maxWorkbook>>20)
	}
	unpacked := int64(0)
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, f.fail(1, "is no workbook: "+otherwise)
	}
	for _, part := range archive.File {
		if unpacked += int64(min(part.UncompressedSize64, maxUnpacked+1)); unpacked > maxUnpacked {
			return nil, f.fail(1, "has more than %d MiB of cells: send parts of it, or CSV", maxUnpacked>>20)
		}
	}
	if f.opts.Hold != nil {
		if err := f.opts.Hold(int64(len(text)) + cellMemory*unpacked); err != nil {
			return nil, err
		}
	}
	book, err := excelize.OpenReader(bytes.NewReader(text), excelize.Options{UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxUnpacked, RawCellValue: true})
	if err != nil {
		return nil, f.fail(1, "is no workbook (%v): %s", err, otherwise)
	}
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return nil, f.fail(1, "is empty")
	}
	sheet := sheets[0]
	for _, name := range sheets {
		if f.resource != nil && strings.EqualFold(name, f.resource.Name) {
			sheet = name
		}
	}
	rows, err := book.Rows(sheet)
	if err != nil {
		return nil, f.fail(1, "has a sheet that cannot be read (%v): %s", err, otherwise)
	}
	return &workbook{rows: rows}, nil
}

// Read returns the cells of the next row that has any.
func (w *workbook) Read() (cells []string, err error) {
	defer func() {
		if recover() != nil { // as in file.workbook
			err = io.ErrUnexpectedEOF
		}
	}()
	for w.rows.Next() {
		w.line++
		if cells, err = w.rows.Columns(excelize.Options{RawCellValue: true}); err != nil || len(trimmed(cells)) > 0 {
			return cells, err
		}
	}
	if err := w.rows.Error(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// dateOf returns the date or time of a cell for a field of these, which a workbook has as the number of days since 1900.
func dateOf(f *records.Field, cell string) string {
	days, err := strconv.ParseFloat(cell, 64)
	if err != nil || f.Kind != records.Time && f.Format != "date" {
		return cell
	}
	at, err := excelize.ExcelDateToTime(days, false)
	switch at = at.Round(time.Second); {
	case err != nil:
		return cell
	case f.Kind == records.Time:
		return at.Format(time.RFC3339)
	}
	return at.Format(time.DateOnly)
}

// FieldPos returns the number of the last row.
func (w *workbook) FieldPos(int) (line, column int) { return w.line, 1 }
