package quota

import "fmt"

// Dump describes the buckets.
func (s *Service) Dump() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for _, b := range s.buckets {
		text += fmt.Sprintf("%s: remaining %d spare %d missing %d debt %d orphans %d until %v\n", b.key, b.remaining, b.spare, b.missing, b.debt, usable(b.orphans, now), b.until.Sub(now))
		for _, e := range b.leases {
			text += fmt.Sprintf("  kind %d granted %d before %d last %d size %d older %d demand %.1f sent %v ttl %v needs %d\n", e.kind, e.granted, e.before, e.last, e.size, usable(e.older, now), e.demand, now.Sub(e.sent), e.ttl, e.needs(now))
		}
	}
	return text
}
