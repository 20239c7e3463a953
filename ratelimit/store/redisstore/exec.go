package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// transaction is MULTI to EXEC: two commands for each slot, of which the first says
// what the slot is.
type transaction struct {
	slots    []int
	from, to int // the commands between MULTI and EXEC
	exec     *redis.SliceCmd
}

// exec puts what has no answer yet to the server. The error is one of the connection,
// which must not be used again; what has an answer then, has it for good.
func (b *batch) exec(c *conn, n *node) error {
	b.write(c, n)
	err := b.send(c)
	b.read(c, n)
	if err != nil {
		return fmt.Errorf("redisstore: %s: %w", c.place.addr, err)
	}
	return b.heal(c)
}

// send returns the first error that is no answer. If there is one, the last command
// has it too.
func (b *batch) send(c *conn) error {
	ctx := until{b.deadline}
	pipe := c.Pipeline()
	_ = pipe.BatchProcess(ctx, b.cmds...)
	_, _ = pipe.Exec(ctx)
	if err := b.cmds[len(b.cmds)-1].Err(); err != nil && !isReply(err) {
		return err
	}
	return nil
}

// isReply tells an error that the server answered with.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// write makes the commands.
func (b *batch) write(c *conn, n *node) {
	clear(b.cmds)
	clear(b.txs)
	b.cmds, b.txs = b.cmds[:0], b.txs[:0]
	b.consult(c, n)
	var fresh []int
	for i := range b.slots {
		switch s := &b.slots[i]; {
		case s.done:
		case s.full:
			b.transact(b.fillUp, i)
		case s.total == 0:
			b.ask(s, redis.NewStringCmd(none, "get", s.key))
		case s.known:
			b.ask(s, redis.NewIntCmd(none, "incrby", s.key, s.total))
		case n.cluster: // where a transaction can have one key only
			b.transact(b.begin, i)
		default:
			fresh = append(fresh, i)
		}
	}
	if len(fresh) > 0 {
		b.transact(b.begin, fresh...)
	}
	b.writeQuestions(n)
}

// consult looks up which counters have an expiry.
func (b *batch) consult(c *conn, n *node) {
	now := n.opts.Now().Unix()
	n.ledger.mu.Lock()
	defer n.ledger.mu.Unlock()
	for i := range b.slots {
		s := &b.slots[i]
		s.known = n.ledger.knows(s.hash, c.epoch, s.end, now)
	}
}

func (b *batch) ask(s *slot, cmd redis.Cmder) {
	b.asking(s)
	s.cmd = cmd
	b.cmds = append(b.cmds, cmd)
}

func (b *batch) asking(s *slot) {
	if s.asking {
		b.cmds = append(b.cmds, redis.NewStatusCmd(none, "asking"))
	}
}

// transact has the server do the commands for these slots as one, or not at all.
func (b *batch) transact(commands func(s *slot), slots ...int) {
	b.asking(&b.slots[slots[0]])
	b.cmds = append(b.cmds, redis.NewStatusCmd(none, "multi"))
	from := len(b.cmds)
	for _, i := range slots {
		commands(&b.slots[i])
	}
	tx := transaction{slots: slots, from: from, to: len(b.cmds), exec: redis.NewSliceCmd(none, "exec")}
	b.txs = append(b.txs, tx)
	b.cmds = append(b.cmds, tx.exec)
}

// begin counts and says when the counter expires: in one step, so that no counter is
// left behind without an end, whatever happens to this process or to the connection.
func (b *batch) begin(s *slot) {
	b.cmds = append(b.cmds,
		redis.NewStatusCmd(none, "incrby", s.key, s.total),
		redis.NewStatusCmd(none, "pexpire", s.key, s.ttl.Milliseconds()))
}

// fillUp reads the counter and sets it to the most it holds.
func (b *batch) fillUp(s *slot) {
	b.cmds = append(b.cmds,
		redis.NewStatusCmd(none, "get", s.key),
		redis.NewStatusCmd(none, "set", s.key, uint64(maxCount), "xx", "keepttl"))
}

// read takes the answers.
func (b *batch) read(c *conn, n *node) {
	for i := range b.slots {
		if s := &b.slots[i]; !s.done && s.cmd != nil {
			b.readSlot(s, c)
			s.cmd = nil
		}
	}
	for i := range b.txs {
		b.readTransaction(&b.txs[i], c, n)
	}
	for i := range b.asks {
		if q := &b.asks[i]; !q.done && q.cmd != nil {
			q.read(c)
		}
	}
}

func (b *batch) readSlot(s *slot, c *conn) {
	switch cmd := s.cmd.(type) {
	case *redis.IntCmd:
		s.take(cmd.Val(), cmd.Err(), c)
	case *redis.StringCmd:
		s.takeText(cmd.Val(), cmd.Err(), c)
	}
}

// take has the slot's value after the additions, or an error.
func (s *slot) take(value int64, err error, c *conn) {
	switch {
	case err == nil:
		s.done, s.base = true, value-int64(s.total)
	case !isReply(err) || again(err):
	case strings.Contains(err.Error(), "overflow"):
		s.full = true
	default:
		s.done, s.err = true, replyError(c, err)
	}
}

// takeText has the slot's value before the additions, or an error.
func (s *slot) takeText(text string, err error, c *conn) {
	if err == nil {
		s.base, err = strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = errNoCounter
		}
	}
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		s.done = true
	case errors.Is(err, errNoCounter):
		s.done, s.err = true, replyError(c, err)
	case !isReply(err) || again(err):
	default:
		s.done, s.err = true, replyError(c, err)
	}
}

var errNoCounter = errors.New("something that is no number has the key of a counter")

// again tells an answer that comes from the wrong server, or from one that is not
// the right one any more: nothing was done, and another will do it.
func again(err error) bool { return redis.IsReadOnlyError(err) }

func replyError(c *conn, err error) error {
	return fmt.Errorf("redisstore: %s answered: %w", c.place.addr, err)
}

func (b *batch) readTransaction(tx *transaction, c *conn, n *node) {
	if err := tx.exec.Err(); err != nil {
		// One command that is refused undoes them all.
		for _, cmd := range b.cmds[tx.from-1 : tx.to] {
			if refused := cmd.Err(); refused != nil && isReply(refused) {
				err = refused
				break
			}
		}
		for _, i := range tx.slots {
			b.slots[i].take(0, err, c)
		}
		return
	}
	replies := tx.exec.Val()
	for at, i := range tx.slots {
		if 2*at >= len(replies) {
			return
		}
		b.slots[i].takeAny(replies[2*at], c)
	}
	b.learn(tx, c, n)
}

func (s *slot) takeAny(reply any, c *conn) {
	switch v := reply.(type) {
	case int64:
		s.take(v, nil, c)
	case string:
		s.takeText(v, nil, c)
	case error:
		s.take(0, v, c)
	default: // the counter expired in this moment
		s.full = false
	}
}

// learn notes the expiries that the transaction has set.
func (b *batch) learn(tx *transaction, c *conn, n *node) {
	n.ledger.mu.Lock()
	defer n.ledger.mu.Unlock()
	for _, i := range tx.slots {
		if s := &b.slots[i]; !s.full {
			n.ledger.learn(s.hash, c.epoch, s.expires/1000)
		}
	}
}

// heal sets the expiry of counters that turned out to be new although they had one:
// the server has lost or dropped them in between. It is done before anybody is told
// the count, and may take a second more than the calls have: without it the counter
// would live for ever.
func (b *batch) heal(c *conn) error {
	var cmds []redis.Cmder
	for i := range b.slots {
		if s := &b.slots[i]; s.known && s.done && s.err == nil && s.total > 0 && s.base == 0 && !s.full {
			if s.asking {
				cmds = append(cmds, redis.NewStatusCmd(none, "asking"))
			}
			cmds = append(cmds, redis.NewIntCmd(none, "pexpire", s.key, max(s.ttl, late).Milliseconds()))
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	pipe, ctx := c.Pipeline(), until{b.deadline.Add(time.Second)}
	_ = pipe.BatchProcess(ctx, cmds...)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("redisstore: %s: setting the expiry of a counter that was lost: %w", c.place.addr, err)
	}
	return nil
}
