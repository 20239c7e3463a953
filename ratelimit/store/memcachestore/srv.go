package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/settings"
)

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
	errs := []error{err}
	if !srvName.MatchString(name) {
		errs = append(errs, fmt.Errorf("SRV record %q: must be _service._proto.name, such as _memcache._tcp.example.com", settings.MaskURL(name)))
	}
	settings.Default(&errs, "refresh", &refresh, 0, math.MaxInt64)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("memcachestore: %w", err)
	}
	nodes, err := lookup(ctx, name, &s.opts)
	if err != nil {
		return nil, err
	}
	s.setNodes(nodes)
	if refresh > 0 {
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.workers.Go(func() {
			for backoff.Sleep(ctx, refresh) == nil {
				nodes, err := lookup(ctx, name, &s.opts)
				if err == nil {
					s.setNodes(nodes)
				} else if ctx.Err() == nil {
					s.opts.Log.Warn("cannot refresh the memcached nodes of an SRV record: the previous nodes stay in use", "err", err)
				}
			}
		})
	}
	return s, nil
}

// srvName matches the name of an SRV record.
var srvName = regexp.MustCompile(`^_[^./@?#\x00-\x20\x7f]+\._[^./@?#\x00-\x20\x7f]+\.[^/@?#\x00-\x20\x7f]+$`)

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
		nodes[i] = strings.Replace(node, ".:", ":", 1)
	}
	return nodes, nil
}
