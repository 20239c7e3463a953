package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// NewSRV returns a store whose nodes are those of an SRV record,
// _service._proto.name. It is looked up now, and again every refresh; 0 is never. When
// that fails the nodes remain what they are, and the log says so. When the nodes have
// changed, counters that move to another begin at zero there.
//
// It fails if the name, refresh or an option is malformed, or if the record can't be
// looked up before ctx is done and in Options.Timeout, or has no nodes. opts may be nil.
func NewSRV(ctx context.Context, name string, refresh time.Duration, opts *Options) (*Store, error) {
	s, err := newStore(opts)
	r, err2 := parseSRV(name)
	if refresh < 0 {
		err2 = errors.Join(err2, fmt.Errorf("memcachestore: refresh %v of SRV record: must be more than 0, or 0 for never", refresh))
	}
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	nodes, err := r.lookup(ctx, &s.opts)
	if err != nil {
		return nil, err
	}
	s.use(nodes)
	s.record = r
	if refresh > 0 {
		r.start(s, refresh)
	}
	return s, nil
}

// record is an SRV record.
type record struct {
	text                 string
	service, proto, name string

	cancel  context.CancelFunc // nil if it is not refreshed
	running sync.WaitGroup
}

func parseSRV(text string) (*record, error) {
	service, rest, _ := strings.Cut(text, ".")
	proto, name, _ := strings.Cut(rest, ".")
	r := &record{text: text, service: strings.TrimPrefix(service, "_"), proto: strings.TrimPrefix(proto, "_"), name: name}
	if r.service == "" || r.proto == "" || r.service == service || r.proto == proto || name == "" || strings.ContainsFunc(text, isOdd) {
		return nil, fmt.Errorf("memcachestore: SRV record %q: must be _service._proto.name, such as _memcache._tcp.example.com", masked(text))
	}
	return r, nil
}

// lookup returns the addresses of the nodes, sorted. It sorts them by the full names, dot
// at the end included: so does the reference service, and keys are spread by the order.
func (r *record) lookup(ctx context.Context, opts *Options) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	_, targets, err := opts.Resolver.LookupSRV(ctx, r.service, r.proto, r.name)
	if err != nil {
		return nil, fmt.Errorf("memcachestore: SRV record %q: %w", r.text, err)
	}
	var nodes []string
	for _, t := range targets {
		if t.Target != "." && t.Port != 0 {
			nodes = append(nodes, t.Target+":"+strconv.Itoa(int(t.Port)))
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("memcachestore: SRV record %q: it has no nodes", r.text)
	}
	slices.Sort(nodes)
	for i, node := range nodes {
		host, port, _ := net.SplitHostPort(node)
		nodes[i] = net.JoinHostPort(strings.TrimSuffix(host, "."), port)
	}
	return nodes, nil
}

// start looks the record up again and again.
func (r *record) start(s *Store, refresh time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() {
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.refresh(ctx, s)
			}
		}
	})
}

func (r *record) refresh(ctx context.Context, s *Store) {
	nodes, err := r.lookup(ctx, &s.opts)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.opts.Log.Warn("the nodes of an SRV record can't be refreshed: those before stay in use", "err", err)
	default:
		s.use(nodes)
	}
}

// stop returns when the record is not looked up any more.
func (r *record) stop() {
	if r == nil || r.cancel == nil {
		return
	}
	r.cancel()
	r.running.Wait()
}
