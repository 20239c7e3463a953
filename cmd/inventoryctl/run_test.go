package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

const password = "a long enough password"

// shell runs inventoryctl against a server of its own.
type shell struct {
	t       *testing.T
	url     string
	environ map[string]string
}

// start runs a server until the test ends, and logs in.
func start(t *testing.T) *shell {
	t.Helper()
	s, err := server.Parse(map[string]string{
		"DATABASE_URL": filepath.Join(t.TempDir(), "inventory.db"), "ADMIN_PASSWORD": password, "RATE_LIMIT": "0",
	}, map[string]string{"addr": "127.0.0.1:0"})
	require.NoError(t, err)
	srv, err := server.New(t.Context(), s, &server.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, srv.Close())
	})
	sh := &shell{t, srv.URL(l.Addr()), map[string]string{"INVENTORYCTL_CONFIG": filepath.Join(t.TempDir(), "config", "ctl.json")}}
	sh.input(password+"\n", "login", sh.url, "-u", "admin")
	return sh
}

// try runs a command.
func (s *shell) try(stdin string, args ...string) (out, errs string, err error) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	err = run(s.t.Context(), cli.Env{Args: args, Environ: s.environ, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), err
}

// input runs a command with an input, which must succeed.
func (s *shell) input(stdin string, args ...string) string {
	s.t.Helper()
	out, errs, err := s.try(stdin, args...)
	require.NoError(s.t, err, "%v: %s%s", args, out, errs)
	return out
}

// do runs a command, which must succeed.
func (s *shell) do(args ...string) string {
	s.t.Helper()
	return s.input("", args...)
}

// fails runs a command, which must fail with all of some texts.
func (s *shell) fails(args []string, texts ...string) {
	s.t.Helper()
	_, _, err := s.try("", args...)
	require.Error(s.t, err, "%v", args)
	for _, text := range texts {
		require.Contains(s.t, err.Error(), text, "%v", args)
	}
}

// write writes files of a new directory.
func (s *shell) write(files map[string]string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, text := range files {
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// read returns the files of a directory.
func (s *shell) read(dir string) map[string]string {
	s.t.Helper()
	files := map[string]string{}
	for _, entry := range must(os.ReadDir(dir)) {
		files[entry.Name()] = string(must(os.ReadFile(filepath.Join(dir, entry.Name()))))
	}
	return files
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fabric returns a network of 2 spines, 8 leaves, 2 routers and 2 patch panels: every leaf is cabled to both
// spines, the routers to the first spine through the panels.
func fabric() map[string]string {
	devices := "hostname,location,role,vendor,rack,rack_unit\n"
	interfaces := "name,device,type,ip_address\n"
	cables := "a_interface,b_interface,a_front_port,b_front_port,a_rear_port,b_rear_port,color\n"
	port := func(device, name string) string {
		return fmt.Sprintf(`"{""device"":""%s"",""name"":""%s""}"`, device, name)
	}
	for n := 1; n <= 2; n++ {
		devices += fmt.Sprintf("spine%d,HALL,spine,Arista,R1,%d\nrouter%d,HALL,router,Juniper,R2,%d\npanel%d,HALL,panel,,,\n", n, n, n, n, n)
		interfaces += fmt.Sprintf("ge-0,router%d,fiber,\nup%d,spine1,fiber,\n", n, n)
		for leaf := 1; leaf <= 8; leaf++ {
			interfaces += fmt.Sprintf("eth%d,spine%d,fiber,10.%d.%d.0/31\nup%d,leaf%d,fiber,10.%d.%d.1/31\n", leaf, n, n, leaf, n, leaf, n, leaf)
			cables += port(fmt.Sprintf("spine%d", n), fmt.Sprintf("eth%d", leaf)) + "," + port(fmt.Sprintf("leaf%d", leaf), fmt.Sprintf("up%d", n)) + ",,,,,blue\n"
		}
		cables += port(fmt.Sprintf("router%d", n), "ge-0") + ",,," + port("panel1", fmt.Sprint(n)) + ",,,red\n"
		cables += port("spine1", fmt.Sprintf("up%d", n)) + ",,," + port("panel2", fmt.Sprint(n)) + ",,,red\n"
	}
	cables += ",,,," + port("panel1", "trunk") + "," + port("panel2", "trunk") + ",\n"
	for leaf := 1; leaf <= 8; leaf++ {
		devices += fmt.Sprintf("leaf%d,HALL,leaf,Cisco,,\n", leaf)
	}
	return map[string]string{
		"locations.yaml":    "- name: Campus\n  kind: site\n- name: Hall 1\n  site_code: HALL\n  parent: Campus\n  kind: building\n",
		"racks.yaml":        "- name: R1\n  location: HALL\n  height: 42\n- name: R2\n  location: HALL\n  height: 42\n",
		"devices.csv":       devices,
		"interfaces.csv":    interfaces,
		"rear-ports.jsonl":  `{"device":"panel1","name":"trunk","positions":2}` + "\n" + `{"device":"panel2","name":"trunk","positions":2}` + "\n",
		"front-ports.jsonl": frontPorts(),
		"cables.csv":        cables,
		"vrfs.yaml":         "- name: transit\n",
		"prefixes.yaml":     "- prefix: 10.0.0.0/8\n  status: container\n- prefix: 192.0.2.0/28\n  vrf: transit\n",
	}
}

func frontPorts() (lines string) {
	for panel := 1; panel <= 2; panel++ {
		for n := 1; n <= 2; n++ {
			lines += fmt.Sprintf(`{"device":"panel%d","name":"%d","rear_port":{"device":"panel%d","name":"trunk"},"rear_port_position":%d}`+"\n", panel, n, panel, n)
		}
	}
	return lines
}

// TestNetwork models, cables, addresses, exports and wipes a network of 14 devices, and imports it again.
func TestNetwork(t *testing.T) {
	t.Parallel()
	s := start(t)
	dir := s.write(fabric())

	plan := s.do("apply", "-f", dir, "--dry-run")
	require.Contains(t, plan, "+ device leaf8\n")
	require.Contains(t, s.do("apply", "-f", dir, "--dry-run"), "0 to change")
	s.fails([]string{"diff", "-f", dir}, "differ")
	require.Contains(t, s.do("get", "devices"), "HOSTNAME", "a dry run changed nothing")
	require.NotContains(t, s.do("get", "devices"), "leaf8")
	s.do("apply", "-f", dir, "--yes")
	require.Contains(t, s.do("apply", "-f", dir, "--yes"), "nothing to change")

	require.Equal(t, "192.0.2.1/28\n", s.do("next", "address", "192.0.2.0/28@transit", "dns_name=gw.example.org"))
	require.Equal(t, "192.0.2.2/28\n", s.do("next", "address", "192.0.2.0/28@transit", `interface={"device":"router1","name":"ge-0"}`))
	require.Equal(t, "10.0.0.0/24\n", s.do("next", "prefix", "10.0.0.0/8", "24", "role=loopbacks"))

	trace := s.do("trace", "router2:ge-0")
	for _, hop := range []string{"* interface  router2:ge-0", "front-port panel1:2", "rear-port  panel1:trunk", "rear-port  panel2:trunk", "front-port panel2:2", "interface  spine1:up2"} {
		require.Contains(t, trace, hop)
	}
	require.Equal(t, 8, strings.Count(s.do("get", "devices", "--vendor", "Cisco", "--role", "leaf", "-o", "csv"), "Cisco"))
	require.Contains(t, s.do("get", "interfaces", "--device", "spine1", "--columns", "name,ip_address"), "eth8  10.1.8.0/31")
	described := s.do("describe", "device", "spine1")
	require.Contains(t, described, "rack_id      R1")
	require.Contains(t, described, "Interfaces (10, by device_id)")

	for _, format := range []string{"yaml", "csv", "jsonl"} {
		first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
		s.do("export", "-d", first, "--format", format)
		require.Contains(t, s.do("diff", "-f", first, "--prune"), "nothing to change")
		for _, resource := range []string{"addresses", "prefixes", "vrfs", "devices", "racks", "locations"} {
			s.do("delete", resource, "--all", "--yes")
		}
		for _, resource := range []string{"devices", "interfaces", "cables", "links", "prefixes", "locations"} {
			require.Equal(t, "[]\n", s.do("get", resource, "-o", "json"), resource)
		}
		s.do("create", "-f", first)
		s.do("export", "-d", second, "--format", format)
		require.Equal(t, s.read(first), s.read(second), format)
		require.Equal(t, trace, s.do("trace", "router2:ge-0"))
	}
}

// TestApply: apply shows and makes changes, prunes by choice, and changes nothing if a row is wrong.
func TestApply(t *testing.T) {
	t.Parallel()
	s := start(t)
	dir := s.write(map[string]string{"locations.yaml": "- name: Vienna\n  site_code: VIE\n", "devices.csv": "hostname,location,status\nsw1,VIE,active\nsw2,VIE,active\n"})
	s.do("apply", "-f", dir, "-y")
	s.do("create", "vlan", "vlan_id=7", "name=guests", "location=VIE")

	dir = s.write(map[string]string{"devices.csv": "hostname,location,status\nsw1,VIE,offline\nsw3,VIE,active\n"})
	out, _, err := s.try("", "diff", "-f", dir, "--prune")
	require.ErrorContains(t, err, "differ")
	require.Contains(t, out, "~ device sw1\n    status: active → offline\n")
	require.Contains(t, out, "+ device sw3\n")
	require.Contains(t, out, "- device sw2\n")
	s.fails([]string{"apply", "-f", dir}, "--yes")
	require.Equal(t, "1 created, 1 changed, 1 deleted, 0 unchanged\n", s.do("apply", "-f", dir, "--prune", "-y"))
	require.Equal(t, "HOSTNAME  STATUS\nsw1       offline\nsw3       active\n", s.do("get", "devices", "--columns", "hostname,status", "--sort", "hostname"))
	require.Contains(t, s.do("get", "vlans"), "guests", "vlans are in no file")

	dir = s.write(map[string]string{"a.jsonl": `{"_resource":"devices","hostname":"sw4","location":"VIE"}` + "\n", "devices.csv": "hostname,location\nsw1,VIE\nsw5,GRZ\n"})
	s.fails([]string{"apply", "-f", dir, "-y"}, "Nothing was changed", filepath.Join(dir, "devices.csv")+":3", `location "GRZ"`)
	require.NotContains(t, s.do("get", "devices"), "sw4")
	dir = s.write(map[string]string{"devices.csv": "hostnam\nsw1\n"})
	s.fails([]string{"apply", "-f", dir, "-y"}, "devices.csv", "hostname")
	s.fails([]string{"create", "-f", s.write(map[string]string{"devices.csv": "hostname,location\nsw1,VIE\n"})}, "exists")

	s.do("set", "device", "sw1", "status=maintenance", "tags=core,lab", "rack_height=2", "notes=")
	require.Contains(t, s.do("get", "device", "sw1", "-o", "json"), `"tags":["core","lab"]`)
	require.Contains(t, s.do("set", "device", "sw1@VIE", "location=", "--dry-run"), "location_id")
	require.Contains(t, s.do("get", "device", "sw1"), "VIE")
}

// TestProposals: files are proposed, shown, and withdrawn by their author, who may not apply them.
func TestProposals(t *testing.T) {
	t.Parallel()
	s := start(t)
	dir := s.write(map[string]string{"vrfs.csv": "_resource,name\nvrfs,red\n"})
	made := s.do("apply", "-f", dir, "-y", "--propose", "a VRF")
	id := strings.TrimSpace(strings.TrimPrefix(made, "proposed: "))
	require.Contains(t, s.do("proposal", "list"), id)
	require.Contains(t, s.do("proposal", "show", id), "+ vrf red")
	s.fails([]string{"proposal", "apply", id}, "Another user")
	require.Contains(t, s.do("proposal", "refuse", id), "withdrawn")
	require.NotContains(t, s.do("get", "vrfs"), "red")
}

// TestNames: a name that fits several records, or none, says what to do.
func TestNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.do("create", "-f", s.write(map[string]string{
		"locations.yaml": "- name: Vienna\n  site_code: VIE\n- name: Graz\n", "devices.csv": "hostname,location\nsw1,VIE\nsw1,Graz\n", "interfaces.csv": "name,device.hostname,device.location\neth0,sw1,Graz\n",
	}))
	s.fails([]string{"describe", "device", "sw1"}, "several", "sw1@PARENT")
	require.Contains(t, s.do("describe", "device", "sw1@Graz"), "Graz")
	require.Contains(t, s.do("describe", "interface", "sw1@Graz:eth0"), "eth0")
	s.fails([]string{"describe", "device", "sw9"}, `no device "sw9"`)
	s.fails([]string{"describe", "interface", "eth0"}, "DEVICE:NAME")
	s.fails([]string{"get", "devicez"}, "did you mean devices")
	s.fails([]string{"get", "devices", "--vendr", "x"}, "--vendr", "did you mean -vendor?", "-help")
	require.Equal(t, s.do("--help"), s.do("-help"))
	s.fails([]string{"set", "device", "sw1@VIE", "colour=red"}, "no field", "hostname")
	s.fails([]string{"set", "device", "sw1@VIE", "status=broken"}, "status", "active")
	s.fails([]string{"delete", "devices"}, "--all")
}

// apiToken creates an API token of the admin.
func (s *shell) apiToken(token, scope string) string {
	s.t.Helper()
	id := strings.Fields(s.do("describe", "user", "admin"))[1]
	request := must(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/users/"+id+"/tokens", strings.NewReader(
		fmt.Sprintf(`{"name":"test","scopes":[%q],"current_password":%q}`, scope, password))))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response := must(http.DefaultClient.Do(request))
	defer response.Body.Close()
	var made struct{ Token string }
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&made))
	require.NotEmpty(s.t, made.Token)
	return made.Token
}

// TestContexts: tokens are in a file that only its owner reads, end with a logout, and never reach output.
func TestContexts(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := s.environ["INVENTORYCTL_CONFIG"]
	require.Equal(t, fs.FileMode(0o600), must(os.Stat(path)).Mode().Perm())
	var saved config
	require.NoError(t, json.Unmarshal(must(os.ReadFile(path)), &saved))
	token := saved.Contexts[saved.Current].Token
	require.NotEmpty(t, token)

	_, _, err := s.try("wrong password\n", "login", s.url, "-u", "admin", "--name", "other")
	require.ErrorContains(t, err, "Invalid credentials")
	require.NotContains(t, err.Error(), "wrong password")
	s.input(token+"\n", "login", s.url, "--token-stdin", "--name", "other")
	out := s.do("context", "list")
	require.Contains(t, out, "*  other")
	require.NotContains(t, out, token)
	s.do("context", "use", saved.Current)
	made := s.apiToken(token, "devices:read")
	s.do("create", "-f", s.write(map[string]string{"locations.csv": "name\nVienna\n", "devices.csv": "hostname,location\nsw1,Vienna\n"}))
	s.environ["INVENTORY_URL"], s.environ["INVENTORY_TOKEN"] = s.url, made
	require.Contains(t, s.do("get", "devices"), "sw1")
	s.fails([]string{"get", "locations"}, "Forbidden")
	delete(s.environ, "INVENTORY_URL")
	s.fails([]string{"context", "use", "nowhere"}, "other")
	s.do("get", "devices", "--context", "other")
	s.do("logout")
	s.fails([]string{"get", "devices"}, "inventoryctl login")
	s.fails([]string{"get", "devices", "--context", "other"}, "inventoryctl login") // the same session
	s.do("context", "delete", "other")

	s.environ["INVENTORY_URL"], s.environ["INVENTORY_TOKEN"] = s.url, "no-token"
	s.fails([]string{"get", "devices"}, "Unauthorized", "login")
	s.environ["INVENTORY_TOKEN"] = "no token"
	s.fails([]string{"get", "devices"}, "INVENTORY_TOKEN", "blank")
	s.environ["INVENTORY_URL"] = "inventory"
	s.fails([]string{"get", "devices"}, "https://")
	delete(s.environ, "INVENTORY_URL")
	require.NoError(t, os.Chmod(path, 0o644))
	s.fails([]string{"get", "devices"}, "chmod 600")
}

// TestCompletion: values of flags, names of records and fields come from the server.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.do("apply", "-y", "-f", s.write(fabric()))
	for want, args := range map[string][]string{
		"Arista\nCisco\nJuniper\n":            {"get", "devices", "--vendor", ""},
		"active\n":                            {"get", "devices", "--status", ""},
		"leaf1\nleaf2\n":                      {"describe", "device", "leaf"},
		"router1:ge-0\n":                      {"trace", "router1:"},
		"status=\n":                           {"set", "device", "leaf1", ""},
		"status=maintenance\n":                {"set", "device", "leaf1", "status="},
		"rack=R1\nrack=R2\n":                  {"set", "device", "leaf1", "rack="},
		"spine1:\nspine2:\n":                  {"describe", "interface", "spine"},
		"192.0.2.0/28\n":                      {"next", "address", "192"},
		"table\nwide\njson\njsonl\n":          {"get", "devices", "-o", ""},
		"devices\ninterfaces\nlinks\n":        nil,
		"__start_inventoryctl inventoryctl\n": {"completion"},
	} {
		switch {
		case args == nil:
			out := s.do("__complete", "export", "-d", "x", "")
			for line := range strings.Lines(want) {
				require.Contains(t, out, line)
			}
		case args[0] == "completion":
			for _, sh := range []string{"bash", "zsh", "fish"} {
				require.Contains(t, s.do("completion", sh), "inventoryctl", sh)
			}
		default:
			require.Contains(t, s.do(append([]string{"__complete"}, args...)...), want, "%v", args)
		}
	}
}

// TestAnsible: Ansible reads the devices as a dynamic inventory.
func TestAnsible(t *testing.T) {
	t.Parallel()
	program := servertest.Find(t, "ansible-inventory")
	s := start(t)
	s.do("create", "device", "hostname=sw1", "vendor=Arista", "ip=192.0.2.1")
	require.Contains(t, s.do("ansible", "--host", "sw1"), `"ansible_host":"192.0.2.1"`)
	s.fails([]string{"ansible", "--host", "sw9"}, "sw9")

	dir := s.write(map[string]string{"hosts.json": s.do("ansible", "--list")})
	script := filepath.Join(dir, "inventory.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec cat '"+filepath.Join(dir, "hosts.json")+"'\n"), 0o700))
	command := exec.CommandContext(t.Context(), program, "-i", script, "--graph", "vendor_Arista")
	command.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C.UTF-8")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--sw1")
}

// TestDrift: what devices report is compared with the inventory, and chosen differences are applied.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := start(t)
	document, err := http.Get(s.url + "/openapi.json")
	require.NoError(t, err)
	text, err := io.ReadAll(document.Body)
	require.NoError(t, errors.Join(err, document.Body.Close()))
	if !bytes.Contains(text, []byte(`"/drift"`)) {
		t.Skip("the server has no feature with /drift")
	}
	s.do("create", "-f", s.write(map[string]string{
		"devices.csv":    "hostname\nsw1\nsw2\n",
		"interfaces.csv": "name,device,mtu\nGigabitEthernet1/0/1,sw1,1500\nGigabitEthernet1/0/2,sw1,1500\nEthernet1,sw2,\n",
	}))
	dir := s.write(map[string]string{
		"sw1.yml":     "- interface: Gi1/0/1\n  mtu: '9000'\n- interface: Gi1/0/2\n  mtu: '1500'\n- interface: Gi1/0/3\n",
		"tables.json": `{"tables":[{"device":"sw1","rows":[{"local_interface":"Gi1/0/2","neighbor":"sw2.example.org","neighbor_interface":"Ethernet1"}]}]}`,
		"sw9.json":    `[{"interface":"eth0"}]`,
	})
	ports, neighbors := filepath.Join(dir, "sw1.yml"), filepath.Join(dir, "tables.json")
	out, _, err := s.try("", "drift", ports, neighbors)
	require.ErrorContains(t, err, "differ")
	for _, part := range []string{"sw1:GigabitEthernet1/0/1  mtu=1500", "mtu=9000", "sw1:Gi1/0/3", "neighbor=sw2.example.org"} {
		require.Contains(t, out, part)
	}
	out = s.do("drift", ports, "--apply", "different", "--dry-run")
	require.Contains(t, out, "mtu: 1500 → 9000")
	require.Contains(t, s.do("get", "interfaces", "--columns", "name,mtu"), "GigabitEthernet1/0/1  1500")
	s.do("drift", ports, neighbors, "--apply", "all", "--yes")
	require.Equal(t, "no differences\n", s.do("drift", ports, neighbors))
	require.Contains(t, s.do("get", "links"), "sw1:GigabitEthernet1/0/2")
	s.fails([]string{"drift", filepath.Join(dir, "sw9.json")}, `no device "sw9"`, "--device")
}

// TestRateLimit: a command waits for the rate limit of the server, and sends its body again.
// TestHostile: the responses of a server that is none of an inventory are bounded. The exit code is 1, and the error
// names the route.
func TestHostile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("format") == "jsonl":
			_, _ = w.Write([]byte(`{"hostname":"`))
			for part := bytes.Repeat([]byte("x"), 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		case r.URL.Path == "/custom-fields":
			_, _ = w.Write([]byte(`{"meta":{},"data":[]}`))
		default:
			_, _ = w.Write([]byte(`{"meta":{"next_cursor":"x"},"data":[{"hostname":"sw1"}]}`))
		}
	}))
	t.Cleanup(server.Close)
	s := &shell{t, server.URL, map[string]string{"INVENTORY_URL": server.URL, "INVENTORY_TOKEN": "x", "INVENTORYCTL_CONFIG": filepath.Join(t.TempDir(), "ctl.json")}}
	s.fails([]string{"get", "devices"}, "GET /devices", "too long")
	s.fails([]string{"get", "devices", "-o", "json"}, "GET /devices", "cursor twice")
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := s.environ["INVENTORYCTL_CONFIG"]
	var saved config
	require.NoError(t, json.Unmarshal(must(os.ReadFile(path)), &saved))
	to := must(url.Parse(s.url))
	seen, wait := 0, "0"
	proxy := httputil.NewSingleHostReverseProxy(to)
	limited := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen++; seen%2 == 0 {
			proxy.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", wait)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer limited.Close()
	s.environ["INVENTORY_URL"], s.environ["INVENTORY_TOKEN"] = limited.URL, saved.Contexts[saved.Current].Token
	_, said, err := s.try("", "create", "device", "hostname=sw1")
	require.NoError(t, err)
	require.Contains(t, said, "waiting for 0 s")
	require.Contains(t, s.do("get", "devices"), "sw1")
	wait = "3600"
	s.fails([]string{"get", "devices"}, "429")
}
