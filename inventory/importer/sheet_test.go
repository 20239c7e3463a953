package importer_test

import (
	"archive/zip"
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// places are the records that the rows of a sheet refer to.
var places = []string{
	"locations.csv", "Site,Code\nVienna,VIE\nGraz,GRZ\n", "racks.csv", "Rack,Site,U height\nR1,Vienna,42\n",
	"device-types.csv", "Manufacturer,Model\nArista,7050\nAcme,X1\nOther,X1\n",
}

// TestSheet: an ordinary spreadsheet is imported by what its columns are called, whatever separates them.
func TestSheet(t *testing.T) {
	t.Parallel()
	for _, sheet := range []string{
		"Name,IP address,Site,Rack,U,Device type,Serial,Status,Tags\nsw1,192.0.2.1,Vienna,R1,7,7050,S1,Active,\"core, lab\"\n",
		"Name;IP-Address;Site;Rack;U;Type;S/N;State;Tags\r\nsw1;192.0.2.1;VIE;R1;7;7050;S1;active;core,lab\r\n",
		"Hostname\tIP\tLocation ID\tRack ID\tRack unit\tDevice type.Model\tSerial number\tstatus\ttags\nsw1\t192.0.2.1\tVienna\tR1\t7\t7050\tS1\tactive\t\"[\"\"core\"\",\"\"lab\"\"]\"\n",
	} {
		engine := memory()
		report, err := files(engine, nil, append(places, "devices.csv", sheet)...)
		require.NoError(t, err, sheet)
		require.Empty(t, problems(report), sheet)
		devices, err := records.Select[inventory.Device](t.Context(), engine.Store(), &records.Query{})
		require.NoError(t, err)
		require.Len(t, devices, 1)
		d := devices[0]
		require.Equal(t, "sw1 192.0.2.1 S1 active", d.Hostname+" "+d.IP+" "+d.SerialNumber+" "+string(d.Status), sheet)
		require.Equal(t, []string{"core", "lab"}, d.Tags, sheet)
		require.Equal(t, int64(7), *d.RackUnit, sheet)
		require.NotNil(t, d.LocationID, sheet)
		require.NotNil(t, d.RackID, sheet)
		require.NotNil(t, d.DeviceTypeID, sheet)
	}
}

// TestSameDevice: LAGs, parents and rear ports are named within the device of the row, in each format.
func TestSameDevice(t *testing.T) {
	t.Parallel()
	const devices = "hostname\nr1\nr2\n"
	for name, text := range map[string]string{
		"interfaces.csv":   "device,name,type,lag,parent\nr1,x1,10g,po1,\nr1,po1,lag,,\nr1,po1.5,virtual,,po1\nr2,po1,lag,,\nr2,x1,10g,po1,\nr2,po1.5,virtual,,po1\n",
		"interfaces.jsonl": `{"device":"r1","name":"po1","type":"lag"}` + "\n" + `{"device":"r2","name":"po1","type":"lag"}` + "\n" + `{"device":"r2","name":"x1","lag":"po1"}` + "\n" + `{"device":"r1","name":"x1","lag_id":"po1"}` + "\n",
		"front-ports.csv":  "device,name,rear_port,rear_port_position\nr1,f1,p,1\nr2,f1,p,2\n",
	} {
		engine := memory()
		report, err := files(engine, nil, "devices.csv", devices, "rear-ports.csv", "device,name,positions\nr1,p,2\nr2,p,2\n", name, text)
		require.NoError(t, err)
		require.Empty(t, problems(report), name)
		again, err := files(engine, nil, name, text)
		require.NoError(t, err)
		require.Equal(t, report.Rows-4, again.Unchanged, name)
	}
}

// TestColumnsOfProblems: what is wrong is said in the words of the file, all of it, and of each cell once.
func TestColumnsOfProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"devices.csv", "Name,Site,Status,U\nsw1,Wien,activ,high\n", []string{`:2: Site "Wien"`, `:2: Status "activ" active`, `:2: U "high" whole`}},
		{"devices.csv", "Name,Rack,Device type\nsw1,R9,X1\n", []string{`:2: Rack "R9" no rack`, `:2: Device type "X1" several columns device_type.manufacturer device_type_id`}},
		{"devices.csv", "Name,location_id\nsw1,Wien\n", []string{`:2: location_id "Wien" no location`}},
		{"devices.jsonl", `{"hostname":"sw1","location_id":"Wien","mtu":1,"status":7}`, []string{`:1: location_id "Wien"`, `:1: status "7"`, `:1: mtu unknown`}},
		{"interfaces.csv", "Name,Device,MTU,MAC\neth0,r9,big,zz\n", []string{`:2: Device "r9" no device`, `:2: MTU "big" whole`, `:2: MAC "zz"`}},
		{"interfaces.csv", "device,name,lag\nr9,x1,po1\n", []string{`:2: device "r9"`}},
		{"devices.csv", "Name,Hostname\na,b\n", []string{`:1: Hostname "Name" remove`}},
		{"devices.csv", "Name,Colour of the bezel\na,b\n", []string{`:1: Colour bezel unknown column`}},
	} {
		engine := memory()
		_, err := files(engine, nil, places...)
		require.NoError(t, err)
		report, err := files(engine, &importer.Options{}, tc.name, tc.text)
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = problems(report)
			require.Len(t, report.Problems, len(tc.want), said)
			require.Equal(t, int64(1), report.Rejected)
		}
		for _, want := range tc.want {
			require.True(t, errtest.Names(said, want), "%s, want %s", said, want)
		}
		require.NotContains(t, said, "object", tc.text)
	}
}

// TestWorkbook: the sheet of a workbook with the name of the resource is imported like CSV, with the numbers of its rows.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	_, err := book.NewSheet("Devices")
	require.NoError(t, err)
	seen := time.Date(2026, 1, 31, 17, 45, 0, 0, time.UTC)
	for at, row := range map[string][]any{
		"A1": {"Name", "U height", "Site", "Serial", "Tags", "Last seen"}, "A2": {"sw1", 7, "Vienna", 4711, "core,lab", seen}, "A5": {"sw2"}, "A6": {"sw3", "", "Wien"},
	} {
		require.NoError(t, book.SetSheetRow("Devices", at, &row))
	}
	require.NoError(t, book.SetCellValue("Sheet1", "A1", "Explanations"))
	var text bytes.Buffer
	require.NoError(t, book.Write(&text))
	engine := memory()
	report, err := files(engine, &importer.Options{OnError: importer.Skip}, "locations.csv", "name\nVienna\n", "devices.xlsx", text.String())
	require.NoError(t, err)
	require.Equal(t, int64(3), report.Created, problems(report))
	require.True(t, errtest.Names(problems(report), `devices.xlsx:6: Site "Wien"`), problems(report))
	devices, err := records.Select[inventory.Device](t.Context(), engine.Store(), &records.Query{}, "hostname", "sw1")
	require.NoError(t, err)
	require.Equal(t, "4711", devices[0].SerialNumber)
	require.Equal(t, int64(7), *devices[0].RackHeight)
	require.Equal(t, []string{"core", "lab"}, devices[0].Tags)
	require.Equal(t, seen, *devices[0].LastSeen)
}

// TestBadWorkbooks: a workbook that is none, that is broken, or that would fill the memory is refused.
func TestBadWorkbooks(t *testing.T) {
	t.Parallel()
	archive := func(parts ...string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(parts); i += 2 {
			w, err := z.Create(parts[i])
			require.NoError(t, err)
			_, err = w.Write([]byte(parts[i+1]))
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())
		return b.String()
	}
	for _, tc := range []struct{ text, want string }{
		{"hostname\nsw1\n", "devices.xlsx:1: no workbook CSV"},
		{archive("a", "b"), "devices.xlsx:1: workbook CSV"},
		{archive("xl/worksheets/sheet1.xml", string(make([]byte, 65<<20))), "devices.xlsx:1: 64 MiB"},
		{archive("xl/workbook.xml", `<workbook><sheets><sheet name="a" sheetId="1"/></sheets></workbook>`), "devices.xlsx:1: "},
		{string(make([]byte, 17<<20)), "devices.xlsx:1: 16 MiB"},
	} {
		_, err := files(memory(), nil, "devices.xlsx", tc.text)
		var bad *importer.FileError
		require.ErrorAs(t, err, &bad)
		errtest.Want(t, err, tc.want)
	}
}
