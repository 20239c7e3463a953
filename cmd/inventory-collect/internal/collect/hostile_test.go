package collect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/snmptest"
)

// netTimeout is the time that tests wait for a response that does not come.
const netTimeout = 300 * time.Millisecond

// TestHostile: whatever an agent does ends with an error that says it, within the bounds.
func TestHostile(t *testing.T) {
	t.Parallel()
	exact, next := snmptest.Lookup(switchValues()...)
	// after answers for ifDescr by f, and otherwise as a switch does.
	after := func(f snmptest.Next) func([]byte) [][]byte {
		return snmptest.Agent(community, exact, func(oid string) gosnmp.SnmpPDU {
			if strings.HasPrefix("."+strings.TrimPrefix(oid, "."), "."+strings.TrimSuffix(ifDescr, ".")) {
				return f(oid)
			}
			return next(oid)
		})
	}
	row := 0
	endless := func(index string) snmptest.Next {
		return func(string) gosnmp.SnmpPDU {
			row++
			return text(fmt.Sprint(ifDescr, row, index), strings.Repeat("x", 500))
		}
	}
	coded := func(code gosnmp.SNMPError) func([]byte) [][]byte {
		return func(packet []byte) [][]byte {
			p, _ := new(gosnmp.GoSNMP).SnmpDecodePacket(packet)
			return [][]byte{snmptest.Response(p, code, p.Variables...)}
		}
	}
	for _, c := range []struct {
		name   string
		answer func([]byte) [][]byte
		opts   collect.Options
		want   string
	}{
		{"silence", func([]byte) [][]byte { return nil }, collect.Options{}, "2 300ms address"},
		{
			"a loop", after(func(string) gosnmp.SnmpPDU { return text(ifDescr+"7", "eth7") }),
			collect.Options{},
			"ifDescr: index row 1",
		},
		{
			"a loop of two", after(func(oid string) gosnmp.SnmpPDU {
				if strings.HasSuffix(oid, ".7") {
					return text(ifDescr+"6", "eth6")
				}
				return text(ifDescr+"7", "eth7")
			}), collect.Options{}, "ifDescr: index row 1",
		},
		{"an endless table", after(endless("")), collect.Options{MaxRows: 500}, "ifDescr: more than 500 rows"},
		{"large values", after(endless(strings.Repeat(".4294967295", 100))), collect.Options{MaxRows: 1_000_000, Timeout: 10 * time.Second}, "ifDescr: 32 MiB"},
		{"an endless table, and little time", after(endless("")), collect.Options{MaxRows: 1_000_000, DeviceTime: 100 * time.Millisecond}, "ifDescr: not finished within 100ms"},
		{"garbage", func([]byte) [][]byte { return [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), {}, {0x30}} }, collect.Options{}, "invalid"},
		{"an error", coded(gosnmp.GenErr), collect.Options{}, "GenErr 1.3.6.1.2.1.1.1.0"},
		{"too big", coded(gosnmp.TooBig), collect.Options{}, "the device replied TooBig"},
		{"another request", func(packet []byte) [][]byte { return [][]byte{packet} }, collect.Options{}, "PDU 0xa0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opts.Timeout == 0 {
				c.opts.Timeout = netTimeout
			}
			c.opts.Retries = 1
			began := time.Now()
			row = 0
			_, err := collectFrom(t, snmptest.Serve(t, c.answer), &c.opts)
			errtest.Want(t, err, c.want)
			require.NotContains(t, err.Error(), community)
			require.NotContains(t, err.Error(), "goroutine")
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

// TestTooBig: an agent that can only send small responses is asked for less.
func TestTooBig(t *testing.T) {
	t.Parallel()
	exact, next := snmptest.Lookup(switchValues()...)
	agent := snmptest.Agent(community, exact, next)
	addr := snmptest.Serve(t, func(packet []byte) [][]byte {
		p, _ := new(gosnmp.GoSNMP).SnmpDecodePacket(packet)
		if p.MaxRepetitions > 4 {
			return [][]byte{snmptest.Response(p, gosnmp.TooBig)}
		}
		return agent(packet)
	})
	r, err := collectFrom(t, addr, nil)
	require.NoError(t, err)
	require.Len(t, r.Interfaces, 4)
}

// TestCorrupt: responses with changed bytes never make the collector panic, hang or exceed its bounds.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	agent := snmptest.Values(community, switchValues()...)
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		addr := snmptest.Serve(t, func(packet []byte) [][]byte {
			answers := agent(packet)
			for _, a := range answers {
				for range random.IntN(3) {
					a[random.IntN(len(a))] = byte(random.Uint32())
				}
			}
			return answers
		})
		r, err := collectFrom(t, addr, &collect.Options{Timeout: 5 * time.Millisecond, Retries: 1, DeviceTime: 10 * time.Second})
		require.Equal(t, err == nil, r != nil)
		if err != nil {
			require.NotContains(t, err.Error(), "goroutine")
		}
	}
}

// FuzzParseTarget: a target is refused, or a host and a port that can be connected to.
func FuzzParseTarget(f *testing.F) {
	f.Add("192.0.2.1:161")
	f.Add("[2001:db8::1%eth0]:1")
	f.Fuzz(func(t *testing.T, target string) {
		host, port, err := collect.ParseTarget(target)
		if err == nil && (host == "" || port == 0 || strings.ContainsAny(host, " /\n")) {
			t.Errorf("%q is the host %q and the port %d", target, host, port)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "target ") {
			t.Errorf("%q: %v", target, err)
		}
	})
}

// TestCancel: the end of a context ends a request that waits.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	addr := snmptest.Serve(t, func([]byte) [][]byte { cancel(); return nil })
	began := time.Now()
	_, err := newCollector(t, collect.Credentials{Community: community}, &collect.Options{Timeout: time.Minute}).Collect(ctx, addr)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(began), 20*time.Second)
}
