package redisstore

// Stats are numbers about the connections of a store, those to all nodes together.
type Stats struct {
	// Active is how many are open. Idle ones that the server has closed are found out
	// by asking, and not counted.
	Active int64
	// Total is how many have been opened, and Closed how many of them have been closed
	// again, by whichever side.
	Total, Closed uint64
}

func (c *client) stats() Stats {
	return Stats{
		Active: max(c.traffic.active.Load(), 0),
		Total:  c.traffic.total.Load(),
		Closed: c.traffic.closed.Load(),
	}
}

// prune closes idle connections that the other side has closed.
func (n *node) prune() {
	var gone []*conn
	n.mu.Lock()
	kept := n.idle[:0]
	for _, c := range n.idle {
		if c.link.gone() {
			gone = append(gone, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(n.idle[len(kept):])
	n.idle = kept
	n.mu.Unlock()
	for _, c := range gone {
		c.close()
	}
}
