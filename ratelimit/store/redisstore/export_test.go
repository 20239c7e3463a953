package redisstore

// Waiting is how many calls wait for a pipeline.
func (s *Store) Waiting() int {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return len(s.node.queue)
}

// Idle reports whether there is nothing to do.
func (s *Store) Idle() bool {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.node.running == 0
}

// UnderWay reports whether there is one pipeline, and no call waits for one.
func (s *Store) UnderWay() bool {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.node.running == 1 && len(s.node.queue) == 0
}

// SlotOf is the slot of a key.
func SlotOf(key []byte) int { return slotOf(key) }
