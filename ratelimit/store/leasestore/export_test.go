package leasestore

// Audit calls visit with what each lease holds: hits that may be admitted, and hits that were
// counted in vain and not given back yet.
func (l *Leases) Audit(visit func(key []byte, held, excess uint64)) {
	for g := range l.table.groups {
		for i := range l.table.groups[g] {
			if e := l.table.groups[g][i].lease.Load(); e != nil {
				e.mu.Lock()
				visit(e.hit.Key, e.state.Load()&leftMask, e.excess)
				e.mu.Unlock()
			}
		}
	}
}

// BucketClaim returns how many claimed tokens of a bucket may be used, and when the position of the last one ends.
func (l *Leases) BucketClaim(key []byte) (left, until int64) {
	tag := l.tag(key)
	g, lock := l.buckets.group(tag)
	defer lock.Unlock()
	for i, b := range g.of {
		if g.tags[i] == tag && b != nil {
			return b.left, b.until
		}
	}
	return 0, 0
}
