package snmptest

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gosnmp/gosnmp"
)

// Serve answers UDP packets until the test ends, and returns its address. answer returns the packets to send
// for a packet; it is called by one goroutine.
func Serve(t testing.TB, answer func(packet []byte) [][]byte) (addr string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, packet := range answer(slices.Clone(buf[:n])) {
				_, _ = conn.WriteTo(packet, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// Next returns the value that follows an object identifier, with the type EndOfMibView after the last one.
type Next func(oid string) gosnmp.SnmpPDU

// Agent answers the requests of SNMPv2c with a community: those for the next values by next, and those for
// certain values by exact.
func Agent(community string, exact, next Next) func(packet []byte) [][]byte {
	return func(packet []byte) [][]byte { // several agents may share it
		p, err := new(gosnmp.GoSNMP).SnmpDecodePacket(packet)
		if err != nil || p.Community != community {
			return nil
		}
		var values []gosnmp.SnmpPDU
		for _, v := range p.Variables {
			switch p.PDUType {
			case gosnmp.GetRequest:
				values = append(values, exact(v.Name))
			case gosnmp.GetBulkRequest:
				for name := v.Name; len(values) < int(p.MaxRepetitions); name = values[len(values)-1].Name {
					values = append(values, next(name))
				}
			default:
				values = append(values, next(v.Name))
			}
		}
		return [][]byte{Response(p, gosnmp.NoError, values...)}
	}
}

// Response encodes a response to a request, or returns nil if that can't be done.
func Response(to *gosnmp.SnmpPacket, code gosnmp.SNMPError, values ...gosnmp.SnmpPDU) []byte {
	response := gosnmp.SnmpPacket{
		Version: to.Version, Community: to.Community, PDUType: gosnmp.GetResponse,
		RequestID: to.RequestID, Error: code, Variables: values,
	}
	packet, err := response.MarshalMsg()
	if err != nil {
		return nil
	}
	return packet
}

// Values returns an agent with values.
func Values(community string, values ...gosnmp.SnmpPDU) func(packet []byte) [][]byte {
	exact, next := Lookup(values...)
	return Agent(community, exact, next)
}

// Lookup returns the functions of an Agent for values.
func Lookup(values ...gosnmp.SnmpPDU) (exact, next Next) {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(a, b gosnmp.SnmpPDU) int { return compare(a.Name, b.Name) })
	exact = func(oid string) gosnmp.SnmpPDU {
		for _, v := range sorted {
			if compare(v.Name, oid) == 0 {
				return v
			}
		}
		return gosnmp.SnmpPDU{Name: oid, Type: gosnmp.NoSuchInstance}
	}
	next = func(oid string) gosnmp.SnmpPDU {
		i, found := slices.BinarySearchFunc(sorted, oid, func(v gosnmp.SnmpPDU, oid string) int { return compare(v.Name, oid) })
		if found {
			i++
		}
		if i == len(sorted) {
			return gosnmp.SnmpPDU{Name: oid, Type: gosnmp.EndOfMibView}
		}
		return sorted[i]
	}
	return exact, next
}

// compare orders object identifiers.
func compare(a, b string) int {
	numbers := func(oid string) (all []uint64) {
		for part := range strings.SplitSeq(strings.Trim(oid, "."), ".") {
			n, _ := strconv.ParseUint(part, 10, 64) // 0 for what is none
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(a), numbers(b))
}

// Text returns an octet string.
func Text(oid, text string) gosnmp.SnmpPDU {
	return gosnmp.SnmpPDU{Name: oid, Type: gosnmp.OctetString, Value: text}
}

// Number returns an integer.
func Number(oid string, n int) gosnmp.SnmpPDU {
	return gosnmp.SnmpPDU{Name: oid, Type: gosnmp.Integer, Value: n}
}
