package redisstore

import "time"

// arm sets the timer to when something is due for the call that waits longest, if
// there is one. The lock is held.
func (n *node) arm(now time.Duration) {
	if len(n.queue) == 0 || n.closed {
		return
	}
	wait := max(n.due()-now, 0)
	if n.timer == nil {
		n.timer = time.AfterFunc(wait, n.tick)
		return
	}
	n.timer.Reset(wait)
}

// due is when something is to happen for the first call of the queue.
func (n *node) due() time.Duration {
	since := n.queue[0].since
	end := since + n.opts.Timeout
	switch {
	case n.running < n.opts.PoolSize:
		return min(since+patience, end)
	case n.opts.OnEmpty == Fail, n.opts.OnEmpty == Create && n.overflow < n.opts.PoolSize:
		return min(since+n.opts.OnEmptyWait, end)
	}
	return end
}

// tick does what is due.
func (n *node) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	now := n.now()
	n.refuse(n.waitedFor(now, n.opts.Timeout), ErrTimeout)
	if len(n.queue) == 0 || now < n.due() {
		n.arm(now)
		return
	}
	switch {
	case n.running < n.opts.PoolSize:
		n.launch(false)
	case n.opts.OnEmpty == Create:
		n.launch(true)
	default:
		n.refuse(n.waitedFor(now, n.opts.OnEmptyWait), ErrPoolEmpty)
		n.arm(now)
	}
}

// waitedFor is how many calls have waited so long.
func (n *node) waitedFor(now, wait time.Duration) int {
	for i, c := range n.queue {
		if now < c.since+wait {
			return i
		}
	}
	return len(n.queue)
}
