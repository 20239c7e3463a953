package redisstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/circuit"
	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// minTTL is the least lifetime of a counter after a hit.
	minTTL = 2 * time.Second
	// maxAttempts bounds how often a batch is sent while it is certain that it was not counted.
	maxAttempts = 6
	// maxRedirects bounds how often each attempt is sent on within a cluster.
	maxRedirects = 8
)

// rerouteWait is the time between attempts to connect. In all they take about as long as a
// circuit needs to open. A cluster client finds out meanwhile which server took over from
// one that is gone.
var rerouteWait = backoff.Backoff{Initial: 10 * time.Millisecond}

var (
	errReadOnly  = errors.New("redisstore: the server is a read-only replica, and no other server is known")
	errNotNumber = errors.New("the value of the key is not a number")
)

// batch is the calls of one pipeline.
type batch struct {
	calls    []*call
	hits     int
	deadline time.Time

	commands []command
	index    map[uint64]int // of the last command for a key, by its hash
	pending  int            // commands without a result
	cmds     []redis.Cmder
	epoch    uint32 // of the expiries
}

// command is all additions of a batch to a key, as one INCRBY; or all its charges, or subtractions, on a
// key, as one call of a script, which has no other key, so that a cluster and a proxy can pass it on;
// or a call of unlessOver, or a PING.
type command struct {
	kind   callKind
	script *script // nil for additions and a PING
	key    []byte  // nil for unlessOver and a PING
	hash   uint64
	total  uint64 // the sum of the additions, or the number of items
	done   bool
	err    error

	// For additions.
	expires     int64 // Unix milliseconds
	ttl         time.Duration
	windowEnd   int64       // Unix seconds
	hasExpiry   bool        // set by this store earlier
	full        bool        // the additions would exceed maxCount
	base        int64       // the value before the additions
	value       redis.Cmder // reads or adds
	create      *redis.StatusCmd
	expire      *redis.IntCmd
	needsExpiry bool // its expiry was refused

	// For others.
	keys    int
	charges []byte // an argument
	args    []any
	perItem int  // numbers in the reply
	source  bool // send the script itself: the server does not know its hash
	cmd     redis.Cmder
	reply   []int64
}

// incrBy is an INCRBY. It keeps a cluster client from sending the commands of a broken
// connection again, whatever its options.
type incrBy struct{ *redis.IntCmd }

// NoRetry implements redis.Cmder.
func (incrBy) NoRetry() bool { return true }

// reset empties the batch. It keeps the memory of arguments, unless it is large.
func (b *batch) reset() {
	const maxCharges = 16 << 10
	clear(b.calls)
	clear(b.cmds)
	clear(b.index)
	for i := range b.commands {
		s := &b.commands[i]
		clear(s.args)
		if cap(s.charges) > maxCharges || cap(s.args) > maxBatchHits {
			s.charges, s.args = nil, nil
		}
		*s = command{charges: s.charges[:0], args: s.args[:0]}
	}
	b.calls, b.commands, b.cmds, b.hits = b.calls[:0], b.commands[:0], b.cmds[:0], 0
}

// merge assigns every item to its command.
func (b *batch) merge(t *expiryTable, now time.Time) {
	for _, c := range b.calls {
		if c.kind == conditionalCall {
			b.mergeConditional(c, now)
			continue
		}
		for i := range c.items {
			var a *algorithm
			var use *script
			switch c.kind {
			case subtractCall:
				use = &subtraction
			case chargeCall:
				a = algorithmOf(c.charges[i].Algorithm)
				use = &a.script
			}
			it := &c.items[i]
			it.command = b.find(t, c.kind, use, c.key(i))
			s := &b.commands[it.command]
			it.before = s.total
			switch c.kind {
			case addCall:
				s.add(&c.hits[i], now)
			case subtractCall:
				s.args, s.perItem, s.total = append(s.args, c.hits[i].N), 1, s.total+1
			case chargeCall:
				s.charges, s.perItem, s.total = a.append(s.charges, &c.charges[i]), a.numbers, s.total+1
			}
		}
	}
	b.pending = len(b.commands)
}

// find returns the index of the command for a key. If two keys share a hash, or two scripts a key, there
// are several commands for each, which are executed in the order of the requests.
func (b *batch) find(t *expiryTable, kind callKind, use *script, key []byte) int {
	hash := t.hash(key)
	if at, ok := b.index[hash]; ok {
		if s := &b.commands[at]; s.kind == kind && s.script == use && bytes.Equal(s.key, key) {
			return at
		}
	}
	b.index[hash] = len(b.commands)
	s := b.next(kind, use)
	s.key, s.hash, s.keys = key, hash, 1
	return len(b.commands) - 1
}

// next appends a command, in the memory of an earlier one if there is some.
func (b *batch) next(kind callKind, use *script) *command {
	at := len(b.commands)
	b.commands = slices.Grow(b.commands, 1)[:at+1]
	s := &b.commands[at]
	s.kind, s.script = kind, use
	return s
}

// add adds a hit.
func (s *command) add(h *ratelimit.Hit, now time.Time) {
	s.total = addCounts(s.total, h.N)
	ttl := ttlOf(h, now)
	if at := now.Add(ttl).UnixMilli(); at > s.expires {
		s.expires, s.ttl = at, ttl
	}
	s.windowEnd = max(s.windowEnd, h.End())
}

// exchange sends what has no result yet until all of it has, or may have been counted.
// The error is that of the connection, not of a reply.
func (q *queue) exchange(ctx context.Context, b *batch) (err error) {
	for attempt := 0; attempt < maxAttempts && b.pending > 0; attempt++ {
		b.write(q)
		pipe := q.pipeline()
		_ = pipe.BatchProcess(ctx, b.cmds...)
		_, _ = pipe.Exec(ctx) // each command has its own error
		if err = b.read(q); err == nil {
			continue
		}
		if q.reload != nil {
			q.reload()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Packets may be lost on the other connections too, which nothing else shows.
			q.dialer.discard(q.name)
		}
		if !circuit.IsUnsent(err) || b.onlyPings() || attempt > 0 && q.circuit.Open() || backoff.Sleep(ctx, rerouteWait.Wait(attempt)) != nil {
			break
		}
	}
	return cmp.Or(err, q.restoreExpiries(b))
}

// onlyPings reports whether nobody waits for a count. Pings are to fail while there is no
// connection.
func (b *batch) onlyPings() bool {
	return !slices.ContainsFunc(b.calls, func(c *call) bool { return c.kind != pingCall })
}

// write makes the commands for what has no result yet.
func (b *batch) write(q *queue) {
	clear(b.cmds)
	b.cmds = b.cmds[:0]
	b.epoch = uint32(q.dialer.opened.Load())
	now, plain := q.clock.now(), q.plain.Load()
	q.expiries.mu.Lock()
	defer q.expiries.mu.Unlock()
	for i := range b.commands {
		switch s := &b.commands[i]; {
		case s.done:
		case s.kind == addCall:
			s.hasExpiry = q.expiries.has(s.hash, b.epoch, s.windowEnd, now.Unix())
			b.writeCounter(s, plain)
		default:
			b.cmds = append(b.cmds, s.write())
		}
	}
}

// noContext is the context of commands in a pipeline, which has its own.
var noContext = context.Background()

// writeCounter makes the commands for a counter. One that may be new is created with
// its expiry first, so that there is no counter without one wherever the connection
// breaks; where SET is refused, the other two commands do the same less safely.
func (b *batch) writeCounter(s *command, plain bool) {
	switch {
	case s.full:
		s.value = redis.NewStringCmd(noContext, "get", s.key)
		b.cmds = append(b.cmds, s.value, redis.NewStatusCmd(noContext, "set", s.key, uint64(maxCount), "xx", "keepttl"))
	case s.total == 0:
		s.value = redis.NewStringCmd(noContext, "get", s.key)
		b.cmds = append(b.cmds, s.value)
	case s.hasExpiry:
		s.value = incrBy{redis.NewIntCmd(noContext, "incrby", s.key, s.total)}
		b.cmds = append(b.cmds, s.value)
	case plain:
		s.value = incrBy{redis.NewIntCmd(noContext, "incrby", s.key, s.total)}
		s.expire = redis.NewIntCmd(noContext, "expire", s.key, seconds(s.ttl))
		b.cmds = append(b.cmds, s.value, s.expire)
	default:
		ttl := s.ttl.Milliseconds()
		s.value = incrBy{redis.NewIntCmd(noContext, "incrby", s.key, s.total)}
		s.expire = redis.NewIntCmd(noContext, "pexpire", s.key, ttl)
		s.create = redis.NewStatusCmd(noContext, "set", s.key, 0, "nx", "px", ttl)
		b.cmds = append(b.cmds, s.create, s.value, s.expire)
	}
}

// seconds returns a time to live for EXPIRE, rounded up.
func seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// unsupported reports whether a reply means that a command can't be used here: it is not
// known, as with proxies and where it was renamed, or the user may not run it.
func unsupported(err error) bool {
	if err == nil || !isReply(err) {
		return false
	}
	text := strings.ToLower(err.Error())
	return redis.IsPermissionError(err) || redis.HasErrorPrefix(err, "CROSSSLOT") ||
		strings.Contains(text, "unknown command") || strings.Contains(text, "unsupported") || strings.Contains(text, "invalid request")
}

// read reads the replies. It returns the first error that is not a reply.
func (b *batch) read(q *queue) (err error) {
	readOnly := false
	note := func(e error) error {
		switch {
		case e == nil || isReadOnly(e):
			readOnly = readOnly || e != nil
		case isReply(e) || errors.Is(e, errNotNumber):
			e = fmt.Errorf("redisstore: %s replied: %w", q.name, e)
		default:
			e = q.connectionError(e)
			err = cmp.Or(err, e)
		}
		return e
	}
	for i := range b.commands {
		s := &b.commands[i]
		switch {
		case s.done:
			continue
		case s.kind == addCall:
			base, e := s.readCounter()
			s.finishCounter(base, note(e))
		default:
			s.finish(note(s.cmd.Err()))
		}
		if s.done {
			b.pending--
		}
	}
	b.recordExpiries(q)
	if readOnly {
		// The other connections to the server that used to be the master are useless too.
		q.dialer.discard(q.name)
		if q.reload != nil {
			q.reload()
		}
	}
	return err
}

// connectionError adds the server to an error that does not name it.
func (q *queue) connectionError(err error) error {
	if strings.Contains(err.Error(), q.name) {
		return fmt.Errorf("redisstore: %w", err)
	}
	return fmt.Errorf("redisstore: %s: %w", q.name, err)
}

// isReply reports whether the server replied with the error.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// uncounted reports whether the error means that the command was not executed, and that
// another attempt may succeed.
func uncounted(err error) bool { return isReadOnly(err) || circuit.IsUnsent(err) }

// isReadOnly reports whether a server is a replica. Before Redis 7 the reply of a script has
// other text in front.
func isReadOnly(err error) bool {
	return redis.IsReadOnlyError(err) || isReply(err) && strings.Contains(err.Error(), "-READONLY ")
}

// readCounter returns the counter's value before the additions.
func (s *command) readCounter() (base int64, err error) {
	switch cmd := s.value.(type) {
	case incrBy:
		return cmd.Val() - int64(s.total), cmd.Err()
	case *redis.StringCmd:
		if err = cmd.Err(); errors.Is(err, redis.Nil) {
			s.full = false // a full one has expired just now; the additions are made again
			return 0, nil
		}
		if err == nil {
			if base, err = strconv.ParseInt(cmd.Val(), 10, 64); err != nil {
				err = errNotNumber
			}
		}
	}
	return base, err
}

// finishCounter stores the result, unless the counter needs another attempt.
func (s *command) finishCounter(base int64, err error) {
	switch {
	case err == nil:
		s.done, s.base = true, base
	case uncounted(err):
	case strings.Contains(err.Error(), "overflow"):
		s.full = true
	default:
		s.done, s.err = true, err
	}
}

// recordExpiries notes the expiries that were set, and those that were refused.
func (b *batch) recordExpiries(q *queue) {
	t := q.expiries
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range b.commands {
		s := &b.commands[i]
		if s.expire == nil {
			continue
		}
		refused := unsupported(s.expire.Err())
		switch {
		case s.expire.Val() == 1 && s.expire.Err() == nil:
			t.put(s.hash, b.epoch, s.expires/1000)
		case refused && s.create != nil:
			s.needsExpiry = true
		case refused && !q.expiryUnsupported.Swap(true):
			q.opts.Log.Error("redis: the server refuses PEXPIRE and EXPIRE: counters do not expire", "server", q.name, "err", s.expire.Err())
		}
		if refused || s.create != nil && unsupported(s.create.Err()) {
			q.plain.Store(true)
		}
		s.create, s.expire = nil, nil
	}
}

// restoreExpiries sets the expiry of counters whose PEXPIRE was refused, and of those that
// turned out to be new although they had one: the server has lost them in between. It runs
// before the callers have their counts and may take a second more than they have, because
// otherwise such a counter could live for ever. If it fails, all connections are discarded,
// and with them what is known of expiries.
func (q *queue) restoreExpiries(b *batch) error {
	var cmds []redis.Cmder
	for i := range b.commands {
		s := &b.commands[i]
		lost := s.hasExpiry && s.base == 0 && !s.full
		if s.done && s.err == nil && s.total > 0 && (lost || s.needsExpiry) {
			ttl := max(s.ttl, minTTL)
			if q.plain.Load() {
				cmds = append(cmds, redis.NewIntCmd(noContext, "expire", s.key, seconds(ttl)))
			} else {
				cmds = append(cmds, redis.NewIntCmd(noContext, "pexpire", s.key, ttl.Milliseconds()))
			}
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	ctx, cancel := context.WithDeadline(noContext, b.deadline.Add(time.Second))
	defer cancel()
	pipe := q.pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	if _, err := pipe.Exec(ctx); err != nil && !isReply(err) {
		q.dialer.discard(q.name)
		return fmt.Errorf("redisstore: %s: setting the expiry of a counter that was lost: %w", q.name, err)
	}
	return nil
}

// fail ends what has no result.
func (b *batch) fail(err error) {
	for i := range b.commands {
		if s := &b.commands[i]; !s.done {
			s.done, s.err = true, err
		}
	}
}

// resolve gives every item its result. The count of a hit is the value before the batch and what the batch
// has added up to this hit.
func (b *batch) resolve() {
	for _, c := range b.calls {
		for i := range c.items {
			it := &c.items[i]
			s := &b.commands[it.command]
			if it.err = s.err; s.err != nil || c.kind == pingCall {
				continue
			}
			if c.kind == addCall {
				c.hits[i].Count = s.after(addCounts(it.before, c.hits[i].N))
				continue
			}
			numbers := s.reply[int(it.before)*s.perItem:][:s.perItem]
			if c.kind != chargeCall {
				c.hits[i].Count = uint64(max(numbers[0], 0))
				continue
			}
			to := &c.charges[i]
			to.Allowed, to.State = numbers[0] >= 0, ratelimit.State{}
			copy(to.State[:], numbers)
			if !to.Allowed {
				to.State[0] = -1 - numbers[0]
			}
		}
	}
}

// after returns the value after n of the additions. A value below zero, which somebody
// else must have set, counts as zero.
func (s *command) after(n uint64) uint64 {
	if s.base < 0 {
		return uint64(max(s.base+int64(n), 0))
	}
	return addCounts(uint64(s.base), n)
}
