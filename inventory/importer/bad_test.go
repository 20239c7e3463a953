package importer_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/importer"
)

// TestBadInput: each format refuses bad input with the position, the value and what would be right. Nothing is
// changed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const list = "list dash column"
	for _, tc := range []struct{ name, text, want string }{
		// Files that are not what they say.
		{"devices.jsonl", "PK\x03\x04...", "devices.jsonl:1: ZIP CSV"},
		{"devices.yaml", "\x1f\x8b\x08", "devices.yaml:1: gzip"},
		{"devices.yaml", "\xfe\xff\x00-", "devices.yaml:1: UTF-16 UTF-8"},
		{"devices.jsonl", "%PDF-1.4", "devices.jsonl:1: binary jsonl"},
		{"devices.jsonl", "<html></html>", "devices.jsonl:1: braces"},
		{"devices.yaml", "hostname,vendor\nsw1,x\n", "devices.yaml:1: " + list},
		{"devices.yaml", `[{"hostname":"a"}]`, "devices.yaml:1: " + list},
		{"devices.csv", "- hostname: sw1\n", "devices.csv:1: hostname: unknown"},
		{"devices.jsonl", "{\n  \"hostname\": \"a\"\n}\n", "devices.jsonl:1: end"},
		{"devices.yaml", "- hostname: sw1\nfoo\n", "devices.yaml:2: " + list},
		{"devices.yaml", "- hostname: sw1\n\tvendor: x\n", "devices.yaml:2: tab spaces"},
		{"devices.yaml", "- hostname: sw1\n   vendor: x\n", "devices.yaml:1: YAML line 2"},

		// Rows of the wrong width or form.
		{"devices.csv", "hostname,vendor\nsw1,x\nsw2,x,y\n", "devices.csv:3: 3 2"},
		{"devices.jsonl", "{\"hostname\":\"sw1\"}\n7\n", "devices.jsonl:2: number"},
		{"devices.jsonl", `{"hostname":"a"} {}`, "devices.jsonl:1: data 18"},
		{"devices.yaml", "- hostname: sw1\n- a\n", "devices.yaml:2: mapping"},
		{"all.jsonl", `{"_resource":7}`, `all.jsonl:1: _resource "7" must be a string`},
		{"all.csv", "old_resource,name\nlocations,Graz\n", "all.csv:1: no resource _resource"},
		{"all.csv", "_resource,name\nlocation,Graz\n", `all.csv:2: _resource "location" locations?`},

		// Unknown columns.
		{"devices.csv", "hostname,vendr,locaton\nsw1,,\n", "devices.csv:1: locaton unknown location?"},
		{"devices.jsonl", "{\"hostname\":\"b\"}\n{\"hostname\":\"a\",\"locaton\":\"x\"}\n", `devices.jsonl:2: locaton unknown location?`},
		{"devices.yaml", "- hostname: b\n- hostname: a\n  locaton: x\n", `devices.yaml:2: locaton unknown location?`},
		{"devices.yaml", "- hostname: a\n  location: {nam: x}\n", `"nam" site_code name`},

		// Byte order marks of joined files.
		{"devices.csv", "\ufeffhostname,vendor\nsw1,x\n\ufeffhostname,vendor\n", "devices.csv:3: mark second"},
		{"devices.jsonl", "\ufeff{\"hostname\":\"a\"}\n\ufeff{\"hostname\":\"b\"}\n", "devices.jsonl:2: mark"},
		{"devices.yaml", "\ufeff- hostname: a\n\ufeff- hostname: b\n", "devices.yaml:2: mark"},
		{"devices.jsonl", "\ufeff", "devices.jsonl:1: is empty"},

		// Latin-1.
		{"devices.csv", "hostname,vend\xf6r\nsw1,x\n", "devices.csv:1: column 2 UTF-8 Latin-1 iconv"},
		{"devices.csv", "hostname,notes\nsw1,\"a\nb\xe9\"\n", "devices.csv:2: line 3 UTF-8 Latin-1"},
		{"devices.jsonl", "{\"hostname\":\"a\"}\n{\"hostname\":\"Ren\xe9\"}\n", "devices.jsonl:2: is not UTF-8, perhaps Latin-1"},
		{"devices.yaml", "- hostname: a\n  vendor: Ren\xe9\n", "devices.yaml:1: line 2 UTF-8 Latin-1"},

		// Duplicate keys in one file.
		{"devices.jsonl", `{"hostname":"sw1","location":"Vienna"}` + "\n" + `{"location":{"name":"Vienna"},"hostname":"sw1"}`, "devices.jsonl:2: line 1 devices.jsonl"},
		{"devices.yaml", "- {hostname: sw1, location: Vienna}\n- hostname: sw1\n  location: {name: Vienna}\n", "devices.yaml:2: line 1 devices.yaml"},
		{"devices.yaml", "- hostname: sw1\n  hostname: sw2\n", `devices.yaml:1: hostname "sw1" is given twice`},

		// References to rows that failed.
		{"all.csv", "_resource,name,parent,kind\nlocations,Graz,,what\nlocations,Room,Graz,room\n", `all.csv:3: parent "Graz" line 2 all.csv rejected`},
		{"all.jsonl", `{"_resource":"devices","hostname":"sw1","vendr":"x"}` + "\n" + `{"_resource":"interfaces","name":"eth0","device":"sw1"}`, `all.jsonl:2: device "sw1" line 1 all.jsonl rejected`},
		{"all.yaml", "interfaces:\n- {name: eth0, device: sw1}\ndevices:\n- {hostname: sw1, location: Wien}\n", `all.yaml:2: device "sw1" line 4 all.yaml rejected`},
	} {
		engine := memory()
		_, err := files(engine, nil, "locations.csv", "name\nVienna\n")
		require.NoError(t, err)
		report, err := files(engine, nil, tc.name, tc.text)
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = problems(report)
			require.Positive(t, report.Rejected, tc.text)
		}
		require.True(t, errtest.Names(said, tc.want), "%s: %s, want %s", tc.text, said, tc.want)
		require.Equal(t, int64(1), count(t, engine, "audit-logs"), tc.text)
	}
}

// TestMarksAndNothing: a byte order mark at the beginning, and an empty list, are no errors.
func TestMarksAndNothing(t *testing.T) {
	t.Parallel()
	report, err := files(memory(), nil, "devices.csv", "\ufeff\"hostname\",vendor\r\nsw1,x\r\n", "all.jsonl", "\ufeff{\"_resource\":\"devices\",\"hostname\":\"sw2\"}\r\n",
		"vlans.yaml", "\ufeff- vlan_id: 7\r\n  name: x\r\n", "links.yaml", "[]\n")
	require.NoError(t, err)
	require.Empty(t, problems(report))
	require.Equal(t, int64(3), report.Created)
}

// TestStopEarly: an import that is one transaction refuses a large file before it has read much of it, also
// if all of its rows are invalid, or if it is one row.
func TestStopEarly(t *testing.T) {
	t.Parallel()
	const size = 1 << 30
	for _, tc := range []struct{ name, head, row, want string }{
		{"devices.csv", "hostname,location\n", "sw1,Vienna\n", "1000 64"},
		{"devices.csv", "hostname,location\n", "sw1,Vienna,x\n", "1000"},
		{"devices.jsonl", "", `{"hostname":"sw1"}` + "\n", "on_error=skip dry_run"},
		{"devices.jsonl", "", `{"hostname":7,"vendr":"x"` + "\n", "1000"},
		{"devices.yaml", "", "- hostname: sw1\n", "1000"},
		{"devices.jsonl", "", `{"hostname":"` + strings.Repeat("x", 1<<19) + "\"}\n", "have more than 64 MiB"},
		{"devices.csv", "hostname,notes\nsw1,\"", "x\n", "devices.csv:1: line MiB quotation"},
		{"devices.csv", "\"hostname", "x", "devices.csv:1: header MiB quotation"},
		{"devices.jsonl", `{"hostname":"`, "x", "devices.jsonl:1: MiB"},
		{"devices.yaml", "- hostname: sw1\n  notes: |\n", "    x\n", "devices.yaml:1: item MiB"},
	} {
		rest := &io.LimitedReader{R: &repeated{row: tc.row}, N: size}
		engine := memory()
		source, err := importer.Open(tc.name, io.MultiReader(strings.NewReader(tc.head), rest), engine.Store().Schema(), nil)
		if err == nil {
			_, err = importer.Run(t.Context(), engine, []importer.Source{source}, &importer.Options{MaxRows: 1000})
		}
		errtest.Want(t, err, tc.want)
		require.Less(t, size-rest.N, int64(66<<20), tc.name)
		require.Zero(t, count(t, engine, "audit-logs"))
	}
}
