package snmptest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// readyCommunity is a community for sysName alone, with which Start asks whether the agent is ready.
const readyCommunity = "snmptest-ready"

// Start starts an snmpd with lines of snmpd.conf, such as rocommunity, createUser and sysName, that runs until
// the test ends.
func Start(t testing.TB, lines ...string) *servertest.Process {
	t.Helper()
	program := servertest.Find(t, program()) // before files are created
	dir := t.TempDir()
	config := filepath.Join(dir, "snmpd.conf")
	lines = append([]string{"rocommunity " + readyCommunity + " 127.0.0.1 .1.3.6.1.2.1.1.5"}, lines...)
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return servertest.StartWith(t, program, func(port string) []string {
		return []string{"-f", "-Lo", "-C", "-c", config, "-I", "-smux", "udp:127.0.0.1:" + port}
	}, ready, func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir, "MIBS=")
	})
}

// program returns the name of snmpd, or its path on Debian, where users do not have it on their PATH.
func program() string {
	const path = "/usr/sbin/snmpd"
	if _, err := exec.LookPath("snmpd"); err != nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "snmpd"
}

// ready asks for the name of the system.
func ready(ctx context.Context, addr string) error {
	host, port, _ := strings.Cut(addr, ":")
	client := &gosnmp.GoSNMP{
		Target: host, Transport: "udp", Version: gosnmp.Version2c, Community: readyCommunity, Context: ctx,
		Timeout: 200 * time.Millisecond, MaxOids: gosnmp.MaxOids,
	}
	if _, err := fmt.Sscan(port, &client.Port); err != nil {
		return err
	}
	if err := client.Connect(); err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	_, err := client.Get([]string{"1.3.6.1.2.1.1.5.0"})
	return err
}
