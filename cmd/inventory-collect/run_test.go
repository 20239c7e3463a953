package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gosnmp/gosnmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/snmptest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/drift"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const community = "lab-secret"

// execute runs the program with a community.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return executeWith(t, map[string]string{"SNMP_COMMUNITY": community}, args...)
}

func executeWith(t *testing.T, environ map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{Args: args, Environ: environ, Stdout: &out, Stderr: &errs}
	code = cli.Run(t.Context(), "inventory-collect", run, env)
	require.NotContains(t, out.String()+errs.String(), "secret", "credentials are not printed")
	return code, out.String(), errs.String()
}

// device starts an agent with an interface and a neighbour.
func device(t *testing.T, name string) (addr string) {
	t.Helper()
	return snmptest.Serve(t, snmptest.Values(
		community, snmptest.Text("1.3.6.1.2.1.1.5.0", name),
		snmptest.Text("1.3.6.1.2.1.2.2.1.2.1", "Ethernet1"), snmptest.Number("1.3.6.1.2.1.2.2.1.4.1", 1500), snmptest.Number("1.3.6.1.2.1.2.2.1.8.1", 1),
		gosnmp.SnmpPDU{Name: "1.3.6.1.2.1.31.1.1.1.15.1", Type: gosnmp.Gauge32, Value: uint32(1000)},
		snmptest.Number("1.0.8802.1.1.2.1.3.7.1.2.1", 5), snmptest.Text("1.0.8802.1.1.2.1.3.7.1.3.1", "Ethernet1"),
		snmptest.Number("1.0.8802.1.1.2.1.4.1.1.4.0.1.1", 4), snmptest.Text("1.0.8802.1.1.2.1.4.1.1.5.0.1.1", "\x00\x1a\x2b\x3c\x4d\x5e"),
		snmptest.Number("1.0.8802.1.1.2.1.4.1.1.6.0.1.1", 5), snmptest.Text("1.0.8802.1.1.2.1.4.1.1.7.0.1.1", "Ethernet49"),
		snmptest.Text("1.0.8802.1.1.2.1.4.1.1.9.0.1.1", "core-1"),
	))
}

// writeFile creates a file that only its owner can read.
func writeFile(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestTables prints tables that package discovery parses. A device that fails does not stop the others.
func TestTables(t *testing.T) {
	t.Parallel()
	silent := snmptest.Serve(t, func([]byte) [][]byte { return nil })
	list := writeFile(t, "# devices\n\n"+device(t, "access-2")+"  # second floor\n"+silent+"\n"+device(t, "ACCESS-1")+"\n")
	code, stdout, stderr := execute(t, "-targets", list, "-timeout", "2s", "-retries", "0", "-concurrency", "1", device(t, "access-1"))
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, stderr, "inventory-collect: "+silent+": no response to 1 requests")
	require.Contains(t, stderr, `: has the name "ACCESS-1", as 127.0.0.1:`)
	require.Contains(t, stderr, ": has no ENTITY-MIB\n")
	require.True(t, strings.HasSuffix(stderr, "inventory-collect: 2 of 4 devices failed\n"), stderr)

	var doc struct {
		Tables []struct {
			Device, Kind string
			Rows         json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Len(t, doc.Tables, 4)
	for i, table := range doc.Tables {
		require.Equal(t, []string{"access-1", "access-2"}[i/2], table.Device)
		if table.Kind == "interfaces" {
			ports, err := discovery.ParseInterfaces(table.Rows)
			require.NoError(t, err)
			require.Equal(t, []discovery.Port{{Name: "Ethernet1", MTU: 1500, State: "up"}}, ports)
			continue
		}
		require.Equal(t, "neighbors", table.Kind)
		neighbors, err := discovery.ParseJSON(table.Rows)
		require.NoError(t, err)
		require.Equal(t, []discovery.Neighbor{{Interface: "Ethernet1", Name: "core-1", ChassisID: "00:1a:2b:3c:4d:5e", Port: "Ethernet49"}}, neighbors)
	}

	code, stdout, _ = execute(t, "-timeout", "50ms", "-retries", "0", silent)
	require.Equal(t, cli.ExitFailure, code)
	require.JSONEq(t, `{"tables":[]}`, stdout)
}

// TestImport prints rows that an import creates records by, and a second import changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "collected.jsonl")
	code, stdout, stderr := execute(t, "-format", "jsonl", "-output", file, device(t, "access-1"))
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)

	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	for _, want := range []importer.Report{{Rows: 2, Created: 2}, {Rows: 2, Unchanged: 2}} {
		f, err := os.Open(file)
		require.NoError(t, err)
		source, err := importer.Open(file, f, engine.Store().Schema(), nil)
		require.NoError(t, err)
		report, err := importer.Run(context.Background(), engine, []importer.Source{source}, nil)
		require.NoError(t, f.Close())
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Equal(t, []int64{want.Rows, want.Created, want.Unchanged}, []int64{report.Rows, report.Created, report.Unchanged})
	}
}

// TestRoundTrip imports devices with odd values: nothing is refused, and drift finds no difference afterwards.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	text, number, long := snmptest.Text, snmptest.Number, strings.Repeat("long ", 50)
	const ifTable, ifX, entity = "1.3.6.1.2.1.2.2.1.", "1.3.6.1.2.1.31.1.1.1.", "1.3.6.1.2.1.47.1.1.1.1."
	odd := func(name, serial string) string {
		return snmptest.Serve(t, snmptest.Values(
			community, text("1.3.6.1.2.1.1.5.0", name),
			text(ifTable+"2.1", "port 1"), text(ifTable+"2.2", long), text(ifTable+"2.3", ""), number(ifTable+"4.1", 20),
			number(ifTable+"7.1", 2), number(ifTable+"7.4170", 2), number(ifTable+"8.4170", 1), number(ifTable+"7.4179", 3), number(ifTable+"8.4179", 5),
			text(ifX+"1.1", "1"), text(ifX+"1.4170", "lo0"), text(ifX+"1.4179", "lo0"), text(ifX+"1.4294967295", "LO0"), text(ifX+"18.1", `"uplink north"`),
			number(entity+"5.1", 3), text(entity+"10.1", long), text(entity+"11.1", serial), text(entity+"12.1", long), text(entity+"13.1", long),
		))
	}
	targets := []string{odd("sw1", "N/A"), odd("sw2", "N/A"), odd("sw3", "AB12"), odd("sw4", "AB12"), odd(strings.Repeat("x", 255), long)}
	file := filepath.Join(t.TempDir(), "collected.jsonl")
	code, _, stderr := execute(t, append([]string{"-concurrency", "1", "-format", "jsonl", "-output", file}, targets...)...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, targets[0]+": left out 1 interfaces without a name")
	require.Contains(t, stderr, targets[3]+`: left out its serial number "AB12", which `+targets[2])

	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	f, err := os.Open(file)
	require.NoError(t, err)
	source, err := importer.Open(file, f, engine.Store().Schema(), nil)
	require.NoError(t, err)
	report, err := importer.Run(t.Context(), engine, []importer.Source{source}, nil)
	require.NoError(t, f.Close())
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, int64(30), report.Created)

	code, stdout, stderr := execute(t, targets...)
	require.Zero(t, code, stderr)
	var doc struct {
		Tables []struct {
			Device string
			Rows   json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Len(t, doc.Tables, len(targets))
	ids := map[string]string{}
	for rec, err := range records.All(t.Context(), engine.Store(), &records.Query{Resource: records.Of[inventory.Device](engine.Store().Schema())}) {
		require.NoError(t, err)
		ids[rec.(*inventory.Device).Hostname] = rec.Meta().ID
	}
	for _, table := range doc.Tables {
		ports, err := discovery.ParseInterfaces(table.Rows)
		require.NoError(t, err)
		require.Len(t, ports, 5)
		require.Equal(t, `"uplink north"`, ports[0].Description)
		found, err := drift.Compare(t.Context(), engine.Store(), []drift.Table{{DeviceID: ids[table.Device], Kind: drift.Interfaces, Interfaces: ports}})
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

// TestCredentials reads credentials from files and the environment, with a real agent.
func TestCredentials(t *testing.T) {
	t.Parallel()
	agent := snmptest.Start(
		t, "rocommunity "+community, "sysName server-1",
		`createUser ann SHA-256 "auth-secret" AES "priv-secret"`, "rouser ann priv",
	)
	user := map[string]string{"SNMP_USER": "ann", "SNMP_AUTH_PASSPHRASE": "auth-secret", "SNMP_PRIV_PROTOCOL": "aes", "SNMP_PRIV_PASSPHRASE": "priv-secret"}
	lines := "# of the lab\n"
	for name, value := range user {
		lines += name + "=" + value + "\n"
	}
	for _, c := range []struct {
		environ map[string]string
		args    []string
	}{
		{map[string]string{"SNMP_COMMUNITY": community}, nil},
		{map[string]string{"SNMP_COMMUNITY": "wrong-secret"}, []string{"-community-file", writeFile(t, community+"\n")}},
		{user, nil},
		{nil, []string{"-credentials-file", writeFile(t, lines)}},
	} {
		code, stdout, stderr := executeWith(t, c.environ, append(c.args, agent.Addr)...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, `"device":"server-1","kind":"interfaces","rows":[{"interface":"lo"`)
	}
}

// TestUsage: wrong usage exits with 2 and says what is right, without secrets.
func TestUsage(t *testing.T) {
	t.Parallel()
	open := writeFile(t, community)
	require.NoError(t, os.Chmod(open, 0o640)) // #nosec G302 -- that is what is tested
	for want, args := range map[string][]string{
		"no devices":                            nil,
		`"a:x"`:                                 {"a:x"},
		`duplicate target "a:161"`:              {"a", "a:161"},
		`line 2: "b`:                            {"-targets", writeFile(t, "a\nb c\n")},
		"no such file":                          {"-targets", "/no/such/file"},
		"-concurrency is 257: use 1 to 256":     {"-concurrency", "257", "a"},
		"-retries is -1: use 0 to 10":           {"-retries", "-1", "a"},
		"-timeout is 0s: use 1ms to 1m0s":       {"-timeout", "0", "a"},
		`"xml" json jsonl`:                      {"-format", "xml", "a"},
		"0640":                                  {"-community-file", open, "a"},
		"line 1: SNMP_COMMUNITY,":               {"-credentials-file", writeFile(t, "SNMP_PASWORD=secret"), "a"},
		"line 2: duplicate SNMP_USER":           {"-credentials-file", writeFile(t, "SNMP_USER=a\nSNMP_USER=b"), "a"},
		"-community-file -credentials-file one": {"-community-file", open, "-credentials-file", open, "a"},
		"--comunity-file: did you mean -community-file?": {"-comunity-file", "x", "a"},
	} {
		code, _, stderr := execute(t, args...)
		require.Equal(t, cli.ExitUsage, code, want)
		require.True(t, errtest.Names(stderr, want), "%s, want %s", stderr, want)
	}
	code, _, stderr := executeWith(t, nil, "a")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "credentials are missing")
}
