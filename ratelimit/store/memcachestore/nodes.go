package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ring is the list of nodes that determines where keys are.
type ring struct {
	nodes  []string
	queues []*queue // of the nodes; a node that is listed twice has its queue twice
}

// queue returns the queue of the node that has the key: the same node that
// memcache.ServerList of the client library, which the reference service uses, selects
// from the same list.
func (r *ring) queue(key []byte) *queue {
	if len(r.queues) == 1 {
		return r.queues[0]
	}
	return r.queues[crc32.ChecksumIEEE(key)%uint32(len(r.queues))]
}

// parseNodes validates addresses and trims whitespace around them.
func parseNodes(addrs []string) ([]string, error) {
	if len(addrs) == 0 {
		return nil, errors.New("memcachestore: no nodes: give at least one address, host:port")
	}
	nodes := make([]string, len(addrs))
	var errs []error
	for i, addr := range addrs {
		nodes[i] = strings.TrimSpace(addr)
		host, port, err := net.SplitHostPort(nodes[i])
		number, err2 := strconv.ParseUint(port, 10, 16)
		if err != nil || err2 != nil || number == 0 || host == "" || strings.ContainsFunc(host, isInvalid) {
			errs = append(errs, fmt.Errorf("memcachestore: node %d, %q: must be host:port, with a port from 1 to 65535", i, masked(addr)))
		}
	}
	return nodes, errors.Join(errs...)
}

// isInvalid reports characters of URLs and others that occur in no host name or address.
func isInvalid(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/@?#", r) }

// masked hides what precedes an "@", which may be a password.
func masked(addr string) string {
	if at := strings.LastIndexByte(addr, '@'); at >= 0 {
		return "***" + addr[at:]
	}
	return addr
}

// NewSRV returns a Store whose nodes are those of an SRV record, _service._proto.name. It
// looks up the record at once, and then at intervals of refresh; 0 means never again. If
// a later lookup fails, the nodes stay as they are and the failure is logged. When the
// nodes change, counters that move to another node begin at zero there.
//
// NewSRV returns an error if the name, refresh or an option is invalid, if the record
// cannot be looked up before ctx is done or within Options.Timeout, or if it has no nodes.
// opts may be nil.
func NewSRV(ctx context.Context, name string, refresh time.Duration, opts *Options) (*Store, error) {
	s, err := newStore(opts)
	err = errors.Join(err, checkSRV(name))
	if refresh < 0 {
		err = errors.Join(err, fmt.Errorf("memcachestore: refresh %v of SRV record: must be more than 0, or 0 for never", refresh))
	}
	if err != nil {
		return nil, err
	}
	nodes, err := lookup(ctx, name, &s.opts)
	if err != nil {
		return nil, err
	}
	s.setNodes(nodes)
	if refresh > 0 {
		ctx, stop := context.WithCancel(context.Background())
		s.stopRefresh = stop
		s.refreshing.Go(func() { s.refresh(ctx, name, refresh) })
	}
	return s, nil
}

// refresh looks up the record at the interval until ctx is done.
func (s *Store) refresh(ctx context.Context, record string, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		nodes, err := lookup(ctx, record, &s.opts)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.opts.Log.Warn("cannot refresh the memcached nodes of an SRV record: the previous nodes stay in use", "err", err)
		default:
			s.setNodes(nodes)
		}
	}
}

// checkSRV returns an error unless the name of an SRV record is _service._proto.name.
func checkSRV(record string) error {
	labels := strings.SplitN(record, ".", 3)
	if len(labels) < 3 || len(labels[0]) < 2 || len(labels[1]) < 2 || labels[0][0] != '_' || labels[1][0] != '_' || labels[2] == "" ||
		strings.ContainsFunc(record, isInvalid) {
		return fmt.Errorf("memcachestore: SRV record %q: must be _service._proto.name, such as _memcache._tcp.example.com", masked(record))
	}
	return nil
}

// lookup returns the addresses of the nodes of an SRV record. It sorts them by their full names, final dot
// included, as the reference service does: the order determines where keys are.
func lookup(ctx context.Context, record string, opts *Options) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	_, targets, err := opts.Resolver.LookupSRV(ctx, "", "", record)
	if err != nil {
		return nil, fmt.Errorf("memcachestore: SRV record %q: %w", record, err)
	}
	var nodes []string
	for _, t := range targets {
		if t.Target != "." && t.Port != 0 {
			nodes = append(nodes, t.Target+":"+strconv.Itoa(int(t.Port)))
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("memcachestore: SRV record %q: it has no nodes", record)
	}
	slices.Sort(nodes)
	for i, node := range nodes {
		host, port, _ := net.SplitHostPort(node)
		nodes[i] = net.JoinHostPort(strings.TrimSuffix(host, "."), port)
	}
	return nodes, nil
}
