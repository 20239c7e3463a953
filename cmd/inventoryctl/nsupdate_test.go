package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestNameServer: a real name server has the devices of the inventory after each run, whatever has changed, and a run
// that fails is repeated.
func TestNameServer(t *testing.T) {
	t.Parallel()
	dir, zones := t.TempDir(), []string{"example.org", "2.0.192.in-addr.arpa"}
	conf := fmt.Sprintf("options { directory %q; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; };\ncontrols {};\n", dir)
	for _, origin := range zones {
		file := filepath.Join(dir, origin)
		require.NoError(t, os.WriteFile(file, []byte("$TTL 60\n@ IN SOA ns.example.net. root.example.net. 1 3600 600 86400 60\n@ IN NS ns.example.net.\n"), 0o644))
		conf += fmt.Sprintf("zone %q { type primary; file %q; allow-update { any; }; allow-transfer { any; }; };\n", origin, file)
	}
	server := servertest.Start(t, "named", func(port string) []string {
		path := filepath.Join(dir, "named.conf")
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(conf, "options {", "options { listen-on port "+port+" { 127.0.0.1; };", 1)), 0o644))
		return []string{"-g", "-n", "1", "-c", path}
	}, func(ctx context.Context, addr string) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	_, port, _ := net.SplitHostPort(server.Addr)
	// update is a program that sends a script to the server.
	nsupdate := filepath.Join(dir, "update")
	require.NoError(t, os.WriteFile(nsupdate, []byte("#!/bin/sh\n(echo server 127.0.0.1 "+port+"; cat) | exec "+servertest.Find(t, "nsupdate")+" -v\n"), 0o755))
	served := func(origin string) (all []string) {
		out := must(exec.CommandContext(t.Context(), servertest.Find(t, "dig"), "@127.0.0.1", "-p", port, "AXFR", origin, "+noall", "+answer").Output())
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); f[3] != "SOA" && f[3] != "NS" {
				all = append(all, f[0]+" "+f[3]+" "+f[4])
			}
		}
		return all
	}

	s := start(t)
	run := func(program string) (string, error) {
		out := ""
		for _, zone := range []string{"--origin=example.org", "--origin=2.0.192.in-addr.arpa --domain=example.org"} {
			args := append([]string{"nsupdate", "--state", filepath.Join(dir, strings.Fields(zone)[0]+".json")}, strings.Fields(zone)...)
			if program != "" {
				args = append(args, "--", program)
			}
			text, _, err := s.try("", args...)
			if out += text; err != nil {
				return out, err
			}
		}
		return out, nil
	}
	both := func(forward, reverse string) {
		t.Helper()
		printed := must(run(""))
		out, err := run(nsupdate)
		require.NoError(t, err, "%s\n%s", out, printed)
		require.ElementsMatch(t, strings.Fields(strings.ReplaceAll(forward, " ", "\n")), strings.Fields(strings.Join(served("example.org"), "\n")))
		require.ElementsMatch(t, strings.Fields(strings.ReplaceAll(reverse, " ", "\n")), strings.Fields(strings.Join(served("2.0.192.in-addr.arpa"), "\n")))
		require.Empty(t, must(run("")), "nothing is left to do")
	}
	for i := range 3 {
		s.do("create", "device", fmt.Sprintf("hostname=sw%d", i), fmt.Sprintf("ip=192.0.2.%d", i))
	}
	s.do("create", "device", "hostname=six", "ip=2001:db8::1")
	s.do("create", "device", "hostname=bad_name", "ip=192.0.2.77")
	_, err := run("/bin/false")
	require.ErrorContains(t, err, "the next run repeats")
	both("sw0.example.org. A 192.0.2.0 sw1.example.org. A 192.0.2.1 sw2.example.org. A 192.0.2.2 six.example.org. AAAA 2001:db8::1",
		"0.2.0.192.in-addr.arpa. PTR sw0.example.org. 1.2.0.192.in-addr.arpa. PTR sw1.example.org. 2.2.0.192.in-addr.arpa. PTR sw2.example.org.")
	s.do("set", "device", "sw0", "ip=192.0.2.10")
	s.do("set", "device", "sw0", "hostname=core")
	s.do("set", "device", "sw1", "ip=10.9.9.9")
	s.do("delete", "device", "sw2", "--yes")
	s.do("create", "device", "hostname=sw2", "ip=192.0.2.2") // another one with the same name and address
	_, err = run("/bin/false")
	require.Error(t, err)
	s.do("set", "device", "six", "ip=2001:db8::2")
	both("core.example.org. A 192.0.2.10 sw1.example.org. A 10.9.9.9 sw2.example.org. A 192.0.2.2 six.example.org. AAAA 2001:db8::2",
		"10.2.0.192.in-addr.arpa. PTR core.example.org. 2.2.0.192.in-addr.arpa. PTR sw2.example.org.")

	// A position that the server does not know, as after a restored backup: all devices are read again.
	state := filepath.Join(dir, "--origin=example.org.json")
	text := string(must(os.ReadFile(state)))
	_, rest, _ := strings.Cut(text, `"since":"`)
	since, _, _ := strings.Cut(rest, `"`)
	s.do("delete", "device", "six", "--yes")
	require.NoError(t, os.WriteFile(state, []byte(strings.Replace(text, since, since[:len(since)-1]+"0", 1)), 0o600))
	both("core.example.org. A 192.0.2.10 sw1.example.org. A 10.9.9.9 sw2.example.org. A 192.0.2.2",
		"10.2.0.192.in-addr.arpa. PTR core.example.org. 2.2.0.192.in-addr.arpa. PTR sw2.example.org.")
	s.fails([]string{"nsupdate", "--origin", "example.com", "--state", state}, "example.org")
	s.fails([]string{"nsupdate", "--origin", "a_b", "--state", state}, "origin")
	s.fails([]string{"nsupdate", "--origin", "example.org"}, "--state")
}
