package hosts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/hosts"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

type object = featuretest.Object

// TestRights: who may list devices may use each document.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, hosts.New(), map[string]featuretest.Rights{
		"GET /sd/prometheus": {Who: "1+++", Scope: "devices:read"},
		"GET /sd/ansible":    {Who: "1+++", Scope: "devices:read"},
		"GET /sd/hosts":      {Who: "1+++", Scope: "devices:read"},
		"GET /sd/zone":       {Who: "1+++", Scope: "devices:read"},
		"GET /sd/ssh":        {Who: "1+++", Scope: "devices:read"},
		"GET /sd/kea":        {Who: "1+++", Scope: "devices:read interfaces:read prefixes:read"},
		"GET /sd/dnsmasq":    {Who: "1+++", Scope: "devices:read interfaces:read"},
	})
}

// network fills an API with devices at two locations, some of them hostile, and limits the viewer to the
// first location.
func network(t *testing.T) *featuretest.API {
	t.Helper()
	schema, err := inventory.NewSchema(records.Extend("devices", "units", records.Int, ""))
	require.NoError(t, err)
	g := featuretest.New(t, records.NewMemStore(schema), hosts.New())
	here, there := g.Create("/locations", featuretest.With(featuretest.Location("Vienna 1"), "site_code", "VIE-1")), g.Create("/locations", featuretest.Location("Graz"))
	for _, d := range []object{
		featuretest.With(featuretest.Device("core-1"), "location_id", here["id"], "tags", []string{"core", "lab x"}, "role", "router", "units", 9100),
		featuretest.With(featuretest.Device("edge.Example.org"), "ip", "2001:db8::1", "location_id", there["id"], "vendor", "Cisco Systems"),
		featuretest.With(featuretest.Device("core-1"), "ip", "192.0.2.3", "location_id", there["id"]),
		{"hostname": "no-address"},
		featuretest.With(featuretest.Device("evil ; rm * \"x\""), "ip", "192.0.2.4", "notes", "{{ lookup('pipe', 'id') }}\nHost *", "tags", []string{"{% x %}"}, "role", "a\u2028b"),
		featuretest.With(featuretest.Device("192.0.2.99"), "ip", ""),
	} {
		g.Create("/devices", d)
	}
	g.As("root").Send("PATCH", "/users/"+g.Users["viewer"].ID, object{"location_ids": []any{here["id"]}}).Want(200)
	return g
}

// targetGroup is a group of http_sd.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// TestTargets: parameters choose addresses, ports, labels and devices; ETags avoid a second transfer.
func TestTargets(t *testing.T) {
	t.Parallel()
	g := network(t)
	get := func(user, query string) (all []targetGroup) {
		t.Helper()
		g.As(user).Send("GET", "/sd/prometheus"+query, nil).Want(200).WantHeader("Content-Type", "application/json").JSON(&all)
		return all
	}
	names := func(all []targetGroup) string {
		var targets []string
		for _, group := range all {
			targets = append(targets, group.Targets...)
		}
		return strings.Join(targets, " ")
	}
	for query, want := range map[string]string{
		"":                                 "192.0.2.1 [2001:db8::1] 192.0.2.3 no-address 192.0.2.4 192.0.2.99",
		"?port=9100":                       "192.0.2.1:9100 [2001:db8::1]:9100 192.0.2.3:9100 no-address:9100 192.0.2.4:9100 192.0.2.99:9100",
		"?port=units":                      "192.0.2.1:9100",
		"?address=hostname":                "core-1 edge.Example.org core-1 no-address 192.0.2.99",
		"?vendor=Juniper&ip__ne=192.0.2.4": "192.0.2.1 192.0.2.3 192.0.2.99",
		"?q=edge&port=1":                   "[2001:db8::1]:1",
	} {
		if got := names(get("root", query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := get("root", "?hostname=core-1")[0].Labels
	for name, want := range map[string]string{
		"hostname": "core-1", "vendor": "Juniper", "role": "router", "tags": ",core,lab x,", "location_name": "Vienna 1", "location_site_code": "VIE-1", "units": "9100",
	} {
		if got := first["__meta_ashlar_"+name]; got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"notes", "updated_at", "version", "serial_number"} {
		if value, there := first["__meta_ashlar_"+name]; there {
			t.Errorf("there is the label %s=%s", name, value)
		}
	}
	if got := get("root", "?labels=role:job,location.city,ip:__param_target&hostname=core-1")[0].Labels; !reflect.DeepEqual(got, map[string]string{
		"job": "router", "__meta_ashlar_location_city": "Berlin", "__param_target": "192.0.2.1",
	}) {
		t.Errorf("labels %v", got)
	}
	if got := get("viewer", ""); names(got) != "192.0.2.1" || got[0].Labels["__meta_ashlar_location_name"] != "Vienna 1" {
		t.Errorf("a limited user has %v", got)
	}
	var groups []targetGroup
	g.WithScopes("devices:read").Send("GET", "/sd/prometheus?hostname=core-1", nil).Want(200).JSON(&groups)
	if _, there := groups[0].Labels["__meta_ashlar_location_name"]; there || groups[0].Labels["__meta_ashlar_location_id"] == "" {
		t.Errorf("without the scope locations:read there are the labels %v", groups[0].Labels)
	}
	for query, want := range map[string]string{
		"?port=0": "port", "?port=hostname": "port", "?address=tags": "address", "?labels=notes": "labels", "?labels=ip:a-b": "labels", "?labels=ip:a,role:a": "labels",
		"?limit=1": "limit", "?sortby=ip:asc": "sortby", "?hostnam=x": "hostnam", "?status=x": "status",
	} {
		if a := g.As("root").Send("GET", "/sd/prometheus"+query, nil).Want(400); !strings.Contains(a.Body.String(), `"field":"`+want+`"`) {
			t.Errorf("%s: %s", query, a.Body)
		}
	}
	c := g.As("root")
	tag := c.Send("GET", "/sd/prometheus", nil).Want(200).Header().Get("ETag")
	zipped := c.Send("GET", "/sd/prometheus", nil, "Accept-Encoding", "gzip").Want(200).WantHeader("Content-Encoding", "gzip")
	c.Send("GET", "/sd/prometheus", nil, "If-None-Match", tag).Want(304)
	c.Send("GET", "/sd/prometheus", nil, "If-None-Match", zipped.Header().Get("ETag")).Want(304)
	g.Create("/devices", featuretest.Device("new"))
	c.Send("GET", "/sd/prometheus", nil, "If-None-Match", tag).Want(200)
}

// TestTargetsInPrometheus: a Prometheus server finds the targets and relabels them.
func TestTargetsInPrometheus(t *testing.T) {
	t.Parallel()
	g := network(t)
	api := httptest.NewServer(g.API)
	defer api.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
scrape_configs:
  - job_name: devices
    scrape_interval: 1h
    http_sd_configs:
      - url: %s/sd/prometheus?port=9100
        refresh_interval: 1s
        authorization: {type: Bearer, credentials: %s}
    relabel_configs:
      - {source_labels: [__meta_ashlar_tags], regex: ".*,core,.*", target_label: kind, replacement: core}
      - {source_labels: [__meta_ashlar_hostname], target_label: instance}
      - {source_labels: [__meta_ashlar_location_site_code], target_label: site}
`, api.URL, strings.TrimPrefix(g.As("root").Header.Get("Authorization"), "Bearer ")), 0o600))
	found := map[string]map[string]string{}
	servertest.Start(t, "prometheus", func(port string) []string {
		return []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"+port), "--web.listen-address", "127.0.0.1:" + port}
	}, func(ctx context.Context, addr string) error {
		for len(found) == 0 {
			if err := readTargets(ctx, addr, found); ctx.Err() != nil {
				return fmt.Errorf("no targets: %w", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		return nil
	})
	if len(found) != 6 {
		t.Errorf("%d targets: %v", len(found), found)
	}
	for address, want := range map[string]map[string]string{
		"192.0.2.1:9100":     {"instance": "core-1", "job": "devices", "kind": "core", "site": "VIE-1"},
		"[2001:db8::1]:9100": {"instance": "edge.Example.org", "job": "devices"},
	} {
		if got := found[address]; !reflect.DeepEqual(got, want) {
			t.Errorf("target %s has the labels %v, want %v", address, got, want)
		}
	}
}

// readTargets reads the active targets of a Prometheus server and their labels.
func readTargets(ctx context.Context, addr string, found map[string]map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/api/v1/targets?state=active", nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	var doc struct {
		Data struct {
			ActiveTargets []struct {
				DiscoveredLabels, Labels map[string]string
			}
		}
	}
	if err := json.NewDecoder(a.Body).Decode(&doc); err != nil {
		return err
	}
	for _, target := range doc.Data.ActiveTargets {
		found[target.DiscoveredLabels["__address__"]] = target.Labels
	}
	return nil
}

// TestAnsible: ansible-inventory reads the document, its groups are those of locations, roles, vendors and
// tags, and ansible does not execute templates in records.
func TestAnsible(t *testing.T) {
	t.Parallel()
	g := network(t)
	document := g.As("root").Send("GET", "/sd/ansible", nil).Want(200).Body.Bytes()
	dir := t.TempDir()
	data, script := filepath.Join(dir, "data.json"), filepath.Join(dir, "inventory.sh")
	require.NoError(t, os.WriteFile(data, document, 0o600))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec cat '"+data+"'\n"), 0o700))
	run := func(program string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), servertest.Find(t, program), append([]string{"-i", script}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_LOCALHOST_WARNING=false", "LC_ALL=C.UTF-8")
		cmd.Dir = dir
		var problems strings.Builder
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil || problems.Len() > 0 {
			t.Fatalf("%s: %v %s\n%s", program, err, problems.String(), out)
		}
		return out
	}
	var read map[string]struct {
		Hosts    []string                  `json:"hosts"`
		Hostvars map[string]map[string]any `json:"hostvars"`
	}
	require.NoError(t, json.Unmarshal(run("ansible-inventory", "--list"), &read))
	second := ""
	for host, vars := range read["_meta"].Hostvars {
		if vars["ansible_host"] == "192.0.2.3" {
			second = host
		}
	}
	if !strings.HasPrefix(second, "core-1_") {
		t.Errorf("the second device with one hostname is %q", second)
	}
	evil := "evil___rm____x_"
	for group, want := range map[string][]string{
		"location_VIE_1": {"core-1"}, "location_Graz": {"edge.Example.org", second}, "role_router": {"core-1"}, "role_a_b": {evil}, "vendor_Cisco_Systems": {"edge.Example.org"},
		"vendor_Juniper": {"core-1", second, evil, "192.0.2.99"}, "tag_core": {"core-1"}, "tag_lab_x": {"core-1"}, "ungrouped": {"no-address"},
	} {
		got := read[group].Hosts
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("group %s has the hosts %v, want %v", group, got, want)
		}
	}
	first := read["_meta"].Hostvars["core-1"]
	for name, want := range map[string]any{"ansible_host": "192.0.2.1", "ashlar_vendor": "Juniper", "ashlar_location_site_code": "VIE-1", "ashlar_units": 9100.0, "ashlar_tags": []any{"core", "lab x"}} {
		if !reflect.DeepEqual(first[name], want) {
			t.Errorf("%s is %v, want %v", name, first[name], want)
		}
	}
	for name, want := range map[string]string{"ashlar_notes": "{{ lookup('pipe', 'id') }}", "ashlar_tags": "{% x %}"} {
		if shown := string(run("ansible", evil, "-m", "ansible.builtin.debug", "-a", "var="+name)); !strings.Contains(shown, want) {
			t.Errorf("ansible shows %s", shown)
		}
	}
}

// TestHostFiles: the text formats have only addresses and host names of records.
func TestHostFiles(t *testing.T) {
	t.Parallel()
	g := network(t)
	left := "left out: 3 devices without an address, or whose hostname is no host name"
	for path, want := range map[string]string{
		"/sd/hosts":                           "192.0.2.1\tcore-1\n2001:db8::1\tedge.example.org\n192.0.2.3\tcore-1\n# " + left + "\n",
		"/sd/zone?origin=Example.org.&ttl=60": "$ORIGIN example.org.\n$TTL 60\ncore-1\tIN\tA\t192.0.2.1\nedge\tIN\tAAAA\t2001:db8::1\ncore-1\tIN\tA\t192.0.2.3\n; " + left + "\n",
		"/sd/ssh": "Host core-1\n    HostName 192.0.2.1\nHost edge.example.org\n    HostName 2001:db8::1\n# " +
			strings.Replace(left, "3", "4", 1) + " or that of an earlier device\n",
		"/sd/zone?origin=edge.example.org&vendor=Cisco%20Systems": "$ORIGIN edge.example.org.\n$TTL 3600\n@\tIN\tAAAA\t2001:db8::1\n",
		"/sd/hosts?hostname=none":                                 "",
	} {
		a := g.As("root").Send("GET", path, nil).Want(200)
		if got := a.Body.String(); got != want {
			t.Errorf("%s:\n%s, want\n%s", path, got, want)
		}
		g.As("root").Send("GET", path, nil, "If-None-Match", a.Header().Get("ETag")).Want(304)
	}
	if got := g.As("viewer").Send("GET", "/sd/hosts", nil).Want(200).Body.String(); got != "192.0.2.1\tcore-1\n" {
		t.Errorf("a limited user has %q", got)
	}
	for _, query := range []string{"", "?origin=a%20b", "?origin=a%0Ab", "?origin=example.org&ttl=-1", "?origin=example.org&ttl=2147483648"} {
		g.As("root").Send("GET", "/sd/zone"+query, nil).Want(400)
	}
	g.As("").Send("GET", "/sd/ssh", nil).Want(401)
}

// TestDiscoveryDocument: the OpenAPI document has the filters of these routes, and no pages.
func TestDiscoveryDocument(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name string
					Link string `json:"$ref"`
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(featuretest.New(t, nil, hosts.New()).As("").Send("GET", "/openapi.json", nil).Want(200).Body.Bytes(), &doc))
	var names []string
	for _, p := range doc.Paths["/sd/zone"].Get.Parameters {
		names = append(names, p.Name+strings.TrimPrefix(p.Link, "#/components/parameters/"))
	}
	got := " " + strings.Join(names, " ") + " "
	for _, name := range []string{"origin", "ttl", "If-None-Match", "devices.q", "devices.tags", "devices.filter"} {
		if !strings.Contains(got, " "+name+" ") {
			t.Errorf("no parameter %s in%s", name, got)
		}
	}
	if strings.Contains(got, "page") || strings.Contains(got, "sortby") {
		t.Errorf("parameters%s", got)
	}
}

// TestBigDocument: a document of several pages has each device once, compressed or not.
func TestBigDocument(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	for from := 0; from < 3000; from += records.MaxItems {
		var all []records.Record
		for i := range records.MaxItems {
			all = append(all, &inventory.Device{Hostname: fmt.Sprintf("d%05d", from+i)})
		}
		require.NoError(t, records.New(store, nil).Create(t.Context(), records.Caller{Name: "test"}, all...))
	}
	g := featuretest.New(t, store, hosts.New())
	server := httptest.NewServer(g.API)
	defer server.Close()
	for _, encoding := range []string{"identity", ""} { // the client decompresses by itself
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/sd/prometheus", nil)
		require.NoError(t, err)
		r.Header = g.As("viewer").Header.Clone()
		if encoding != "" {
			r.Header.Set("Accept-Encoding", encoding)
		}
		a, err := server.Client().Do(r)
		require.NoError(t, err)
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		require.NoError(t, err)
		var groups []targetGroup
		require.NoError(t, json.Unmarshal(body, &groups))
		for i, group := range groups {
			if group.Targets[0] != fmt.Sprintf("d%05d", i) {
				t.Fatalf("target %d is %v", i, group.Targets)
			}
		}
		if len(groups) != 3000 {
			t.Errorf("%d targets", len(groups))
		}
	}
}
