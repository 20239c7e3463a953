package hosts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/hosts"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// read reads files, given as name, text, name, text.
func read(pairs ...string) (*hosts.Inventory, error) {
	var files []hosts.File
	for i := 0; i+1 < len(pairs); i += 2 {
		files = append(files, hosts.File{Name: pairs[i], Reader: strings.NewReader(pairs[i+1])})
	}
	return hosts.Read(files...)
}

// rows imports an inventory, and returns the report.
func rows(t *testing.T, engine *records.Engine, v *hosts.Inventory) *importer.Report {
	t.Helper()
	source, err := v.Source(t.Context(), engine)
	require.NoError(t, err)
	report, err := importer.Run(t.Context(), engine, []importer.Source{source}, nil)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	return report
}

// devices returns the devices of an inventory, one a line, in order of their names.
func devices(t *testing.T, engine *records.Engine) string {
	t.Helper()
	names := map[string]string{}
	schema := engine.Store().Schema()
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: records.Of[inventory.Location](schema)})
	require.NoError(t, err)
	for _, rec := range page.Records {
		names[rec.Meta().ID] = rec.(*inventory.Location).Name
	}
	page, err = engine.Store().List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](schema)})
	require.NoError(t, err)
	var lines []string
	for _, rec := range page.Records {
		d := rec.(*inventory.Device)
		location := ""
		if d.LocationID != nil {
			location = names[*d.LocationID]
		}
		lines = append(lines, fmt.Sprintf("%s %s|%s|%s|%s|%s|%s|%s\n", d.Hostname, d.IP, d.OS, d.Vendor, d.Model, d.Role, location, strings.Join(d.Tags, ",")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

const ansibleYAML = `all:
  vars:
    vendor: Cisco
    ansible_user: admin
    ansible_password: hunter2
    snmp_community: hunter2
  hosts:
    lonely:
  children:
    switches:
      vars: {role: switch, ansible_network_os: cisco.ios.ios}
      children:
        core:
          vars: {role: core switch}
          hosts:
            sw1: {ansible_host: 192.0.2.1, site: VIE, model: !vault hunter2}
            sw2: {ansible_host: sw2.example.org, model: "{{ hunter2 }}"}
      hosts:
        sw1:
        sw[08:10].example.org: {location: Graz}
`

const ansibleINI = `; comment
lonely

[core]
sw1:22 ansible_host=192.0.2.1 site=VIE model='$ANSIBLE_VAULT;1.1;hunter2' # comment
sw2 ansible_host="sw2.example.org" model="{{ hunter2 }}"

[core:vars]
role = core switch

[switches:children]
core

[switches]
sw[08:10].example.org location=Graz

[switches:vars]
role=switch
ansible_network_os=cisco.ios.ios

[all:vars]
vendor=Cisco
ansible_user=admin
ansible_password=hunter2
snmp_community=hunter2
`

const wantAnsible = `lonely ||Cisco||||
sw08.example.org |ios|Cisco||switch|Graz|switches
sw09.example.org |ios|Cisco||switch|Graz|switches
sw1 192.0.2.1|ios|Cisco||core switch|Vienna|core,switches
sw10.example.org |ios|Cisco||switch|Graz|switches
sw2 |ios|Cisco||core switch||core,switches
`

// TestImport: hosts become devices with the variables that they inherit, in locations that exist or are new,
// and a second import changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	secret := "variables with secrets, which are not read"
	ansibleRest := []importer.Count{
		{Kind: secret, Objects: 3},
		{Kind: "addresses that are names", Objects: 1},
		{Kind: "templates of variable model", Objects: 1},
		{Kind: "variable ansible_user", Objects: 1},
	}
	for _, c := range []struct {
		name    string
		files   []string
		created int64
		want    string
		rest    []importer.Count
	}{
		{"YAML of Ansible", []string{"inventory.yml", ansibleYAML}, 1 + 6, wantAnsible, ansibleRest},
		{"INI of Ansible", []string{"hosts", ansibleINI}, 1 + 6, wantAnsible, ansibleRest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, err := read(c.files...)
			require.NoError(t, err)
			engine := records.New(records.NewMemStore(inventory.Schema()), nil)
			require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.Location{Name: "Vienna", SiteCode: "VIE", Kind: inventory.LocationBuilding}))
			require.Equal(t, c.created, rows(t, engine, v).Created)
			require.Equal(t, c.want, devices(t, engine))
			again := rows(t, engine, v)
			require.Zero(t, again.Created+again.Updated)
			require.Equal(t, c.rest, v.Unplaced())
		})
	}
}

// TestSecrets: no row and no message has the value of a variable with a secret.
func TestSecrets(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	for _, files := range [][]string{{"a.yml", ansibleYAML}, {"a.ini", ansibleINI}} {
		v, err := read(files...)
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprint(v.Unplaced()), "hunter2")
		source, err := v.Source(t.Context(), engine)
		require.NoError(t, err)
		for row, err := source.Next(); err == nil; row, err = source.Next() {
			require.NotContains(t, string(row.Text)+fmt.Sprint(row.Patch), "hunter2")
		}
	}
	for _, text := range []string{
		"web1 ansible_password='hunter2\n", "web1 ansible_password= hunter2\n", "[all:vars]\nansible_password: hunter2\n", "[web:children]\nweb1 password=hunter2\n",
		"ansible_password=hunter2\n", "all: {vars: {ansible_password: *hunter2}}\n", "all: {vars: {ansible_password: hunter2, a: [}}\n", "all: {hosts: {web1: hunter2}}\n", "[x password=hunter2\n",
	} {
		_, err := read("inventory", text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestBadFiles: a file that is wrong is refused with its line.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	var groups, laughs strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&groups, "[g%d:children]\ng%d\n", i, i+1)
	}
	fmt.Fprint(&laughs, "a: &a {hosts: {x1: , x2: , x3: }}\n")
	for i := range 9 {
		of := strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10)
		fmt.Fprintf(&laughs, "%c: &%[1]c {x: [%s]}\n", 'b'+i, of)
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.yml", "", "a.yml:1: is empty"},
		{"a.ini", "", "a.ini:1: is empty"},
		{"a.yml", "x: 1\n", "a.yml:1: the group \"x\""},
		{"a.yml", "all:\n  host: {x: }\n", `a.yml:2: "all" "host" children`},
		{"a.yml", "all:\n  hosts: [web1]\n", `a.yml:2: hosts "all" mapping list`},
		{"a.yml", "all:\n  hosts:\n    web1: 5\n", `a.yml:3: "web1" mapping`},
		{"a.yml", "all:\n  children:\n    web: {hosts: {x: }}\nweb: {children: {db: }}\ndb:\n  children:\n    web:\n", `within itself children`},
		{"a.yml", "all:\n  hosts:\n    x[1:999999999]:\n", "a.yml:3: [1:999999999] 100000"},
		{"a.yml", "all:\n  hosts: {&a x: {y: *a, hosts: }}\n" + laughs.String(), "excessive aliasing"},
		{"a.yml", "all: {vars: {x: &x [*x]}}\n", "contains itself"},
		{"a.ini", "x[1:9][1:99999]\n", "100000 hosts"},
		{"a.ini", "x[1:99999]\n\ny[1:99999]\n", "a.ini:3: 100000 hosts"},
		{"a.ini", "x[9:1]\n", "invalid range first"},
		{"a.ini", "x[1:9:0]\n", "invalid range step"},
		{"a.ini", "x[1-9]\n", "invalid range [1-9]"},
		{"a.ini", "x[1:9\n", "bracket end"},
		{"a.ini", strings.Repeat("x", 1001), "longer than 1000 bytes"},
		{"a.ini", groups.String(), "groups 1000000"},
		{"a.ini", "\n[web\n", "a.ini:2: header section"},
		{"a.ini", "[web:hosts]\n", "header section"},
		{"a.ini", "[web:vars]\nrole\n", "a.ini:2: name=value"},
		{"a.ini", "[web:children]\na b\n", "a.ini:2: name group"},
		{"a.ini", "[a:children]\nb\n[b:children]\na\n", `is within itself`},
		{"a.ini", "x a = b\n", "spaces equals"},
		{"a.ini", "x a='b\n", "quote end"},
		{"a.ini", "x\x00", "is not text in UTF-8"},
		{"a.ini", strings.Repeat("# comment\n", 1<<20), "more than 8 MiB"},
		{"a", "$ANSIBLE_VAULT;1.1;AES256\n6162\n", "decrypt it with ansible-vault"},
		{"a", "#!/usr/bin/python3\n", "is a script"},
		{"hosts.yaml", "r1: {hostname: x}\nr2: 5\n", "hosts.yaml:1: hostname of the group"},
		{"hosts.yaml", "r1: {hosts: }\nr1: {}\n", "hosts.yaml:2: duplicate key"},
	} {
		_, err := read(c.name, c.text)
		errtest.Want(t, err, c.want)
		_, ok := errors.AsType[*importer.FileError](err)
		require.True(t, ok, c.want)
	}
}

// TestNames: names of hosts may have ports, and ranges of numbers with zeros, of letters and with steps.
func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a:22": "a ", "a[1:2]:22": "a1 a2 ", "a[08:10]b": "a08b a09b a10b ", "a[x:z]": "ax ay az ", "a[0:4:2]": "a0 a2 a4 ",
		"2001:db8::1": "2001:db8::1 ", "[g]\na[1:2]-[a:b]": "a1-a a1-b a2-a a2-b ", `"a" x=y`: "a ",
	} {
		v, err := read("a.ini", text)
		require.NoError(t, err, text)
		engine := records.New(records.NewMemStore(inventory.Schema()), nil)
		rows(t, engine, v)
		got := ""
		for line := range strings.Lines(devices(t, engine)) {
			name, _, _ := strings.Cut(line, " ")
			got += name + " "
		}
		require.Equal(t, want, got)
	}
}

// FuzzRead: every file is read or refused, and refused with its line.
func FuzzRead(f *testing.F) {
	f.Add("hosts", ansibleINI)
	f.Add("hosts.yml", ansibleYAML)
	f.Add("x.ini", "a[1:3][a:c:2]:22 x='y z'\n[a:vars]\nb=c")
	f.Fuzz(func(t *testing.T, name, text string) {
		_, err := read(name, text)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*importer.FileError](err)
		require.True(t, ok, err)
		require.Positive(t, e.Problems[0].Line)
	})
}
