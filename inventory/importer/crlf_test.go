package importer_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// notesOf returns the notes of the device with a name.
func notesOf(t *testing.T, engine *records.Engine, hostname string) string {
	t.Helper()
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](engine.Store().Schema())})
	require.NoError(t, err)
	for _, rec := range page.Records {
		if d := rec.(*inventory.Device); d.Hostname == hostname {
			return d.Notes
		}
	}
	require.Fail(t, "no device "+hostname)
	return ""
}

// TestLineBreaks: the line breaks within a cell are kept as they are, whatever those of rows are, and in
// rows after a row with misplaced quotation marks.
func TestLineBreaks(t *testing.T) {
	t.Parallel()
	for _, notes := range []string{
		"a\r\nb", "a\nb", "a\rb", "a\r\r\nb", "a\r\n\r\nb\n\r\n\"c\"\r\n,\"\r\nd", strings.Repeat("0123456\r\n", 1000),
	} {
		for _, end := range []string{"\n", "\r\n"} {
			cell := `"` + strings.ReplaceAll(notes, `"`, `""`) + `"`
			rows := []string{"hostname,notes,vendor", "sw1," + cell + ",x", `"sw2"x,"y`, `sw"3,"y`, `sw4,` + cell + ",", `"sw5","",""`}
			var rejected []string
			engine := memory()
			report, err := files(engine, &importer.Options{OnError: importer.Skip, Rejected: func(row *importer.Row) error {
				rejected = append(rejected, row.File)
				return nil
			}}, "devices.csv", strings.Join(rows, end)+end)
			require.NoError(t, err)
			require.Len(t, rejected, 2, problems(report))
			require.Equal(t, int64(3), report.Created, problems(report))
			require.Equal(t, notes, notesOf(t, engine, "sw1"))
			require.Equal(t, notes, notesOf(t, engine, "sw4"))
		}
	}
	engine := memory()
	var rejected string
	_, err := files(engine, &importer.Options{OnError: importer.Skip, Rejected: func(row *importer.Row) error {
		rejected += string(row.Head) + string(row.Text)
		return nil
	}}, "devices.csv", "hostname,notes,location\r\nsw1,\"a\r\nb\",Wien\r\n")
	require.NoError(t, err)
	require.Equal(t, "hostname,notes,location\nsw1,\"a\r\nb\",Wien\n", rejected, "rejected rows can be imported again")
}

// FuzzLineBreaks: cells are those of csv.Reader, except for the CR of a CR LF.
func FuzzLineBreaks(f *testing.F) {
	f.Add("a,\"b\r\nc\"\r\n\"d\"e,\"\n\"f\"\"\r\n\"")
	f.Add("\"\"\n\"\"\r\r\n,\n\n")
	schema := inventory.Schema()
	f.Fuzz(func(t *testing.T, text string) {
		text = "hostname,notes\n" + text
		source, err := importer.Open("devices.csv", strings.NewReader(text), schema, nil)
		if err != nil {
			return
		}
		plain := csv.NewReader(strings.NewReader(text))
		plain.FieldsPerRecord = -1
		_, err = plain.Read()
		require.NoError(t, err)
		for {
			cells, wrong := plain.Read()
			for wrong == nil && strings.TrimSpace(strings.Join(cells, "")) == "" { // rows without a value are left out
				cells, wrong = plain.Read()
			}
			for len(cells) > 2 && strings.TrimSpace(cells[len(cells)-1]) == "" {
				cells = cells[:len(cells)-1]
			}
			row, err := source.Next()
			if err != nil {
				require.Error(t, wrong)
				return
			}
			if wrong != nil {
				require.NotEmpty(t, row.Problems)
				continue
			}
			again := csv.NewReader(strings.NewReader(string(row.Text)))
			got, err := again.Read()
			require.NoError(t, err)
			require.Equal(t, cells, got)
		}
	})
}
