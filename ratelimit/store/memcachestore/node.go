package memcachestore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
)

// parseNodes reads addresses, one at least.
func parseNodes(texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, errors.New("memcachestore: no nodes: give the address of one at least, host:port")
	}
	nodes := make([]string, len(texts))
	var wrong []error
	for i, text := range texts {
		nodes[i] = strings.TrimSpace(text)
		if !isNode(nodes[i]) {
			wrong = append(wrong, fmt.Errorf("memcachestore: node %d, %q: must be host:port, with a port from 1 to 65535", i, masked(text)))
		}
	}
	return nodes, errors.Join(wrong...)
}

func isNode(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && n > 0 && host != "" && !strings.ContainsFunc(host, isOdd)
}

// isOdd tells what is in no host name or address, and what belongs to URLs.
func isOdd(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/@?#", r) }

// masked hides what stands before an "@", which may be a password.
func masked(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "***" + text[at:]
	}
	return text
}

// ring is the nodes in the order by which keys are spread over them.
type ring struct {
	nodes []string
	lanes []*lane // of the nodes; a node that is listed twice has its lane twice
}

// lane is that of the node which has the key: the one that other clients of the same
// family choose for it, the reference service included, if their list is the same.
func (r *ring) lane(key []byte) *lane {
	if len(r.lanes) == 1 {
		return r.lanes[0]
	}
	return r.lanes[crc32.ChecksumIEEE(key)%uint32(len(r.lanes))]
}

// address is the address of the one node that a client has.
type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }

// only is the memcache.ServerSelector of one node. It leaves the name to be looked up
// whenever a connection is opened, so that a node may move.
type only struct{ addr net.Addr }

// PickServer implements memcache.ServerSelector.
func (o only) PickServer(string) (net.Addr, error) { return o.addr, nil }

// Each implements memcache.ServerSelector.
func (o only) Each(f func(net.Addr) error) error { return f(o.addr) }
