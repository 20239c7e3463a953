package auth

import (
	"sync"
	"time"
)

// standings remembers what accounts are worth, for a time.
type standings struct {
	ttl time.Duration
	now func() time.Time

	mu     sync.RWMutex
	byUser bounded[string, AccountState]
	age    uint64 // goes up with each forget
}

// question is when, and after how many forgets, somebody began to ask.
type question struct {
	at  time.Time
	age uint64
}

// get returns what is remembered of a user, and what to give to put.
func (s *standings) get(userID string) (st AccountState, ok bool, q question) {
	now := s.now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	st, ok = s.byUser.get(userID, now)
	return st, ok, question{now, s.age}
}

// put remembers the answer to q. If something was forgotten since, it may have been read
// before the change that was the reason to forget, so it is not kept.
func (s *standings) put(userID string, st AccountState, q question) {
	if s.ttl <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.age == q.age {
		s.byUser.put(userID, lasting[AccountState]{st, q.at, q.at.Add(s.ttl)}, q.at)
	}
}

func (s *standings) forget(userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byUser.entries, userID)
	s.age++
}
