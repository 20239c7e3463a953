package redisstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/redis/go-redis/v9"
)

// swap replaces the value of a key if it is as it was read. It returns the value if it is not, and nothing after that
// it is replaced.
var swap = newScript(`
local value = redis.call('GET', KEYS[1]) or ''
if value ~= ARGV[1] then return {value} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return {}
`)

// once is a command that the library does not send again by itself: see evalScript.
type once struct{ *redis.StringSliceCmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// server is a client for one server or for a cluster.
type server interface {
	redis.Cmdable
	Process(ctx context.Context, cmd redis.Cmder) error
}

// ledgers updates values that are computed here.
type ledgers struct {
	client  server
	queueOf func(ctx context.Context, key []byte) (*queue, error)
	seed    maphash.Seed
	turns   []chan struct{} // by key: calls of this process need not disturb each other
}

// start makes the ledgers ready for use.
func (l *ledgers) start(client server, size int, queueOf func(context.Context, []byte) (*queue, error)) {
	l.client, l.queueOf, l.seed = client, queueOf, maphash.MakeSeed()
	l.turns = make([]chan struct{}, max(size, 1))
	for i := range l.turns {
		l.turns[i] = make(chan struct{}, 1)
	}
}

// Update implements ratelimit.LedgerStore: it reads the value and replaces it by a script, unless another instance has
// changed it meanwhile; then it tries again. Each call needs a connection of the pool, for one or two ways to
// the server, and those of one key take turns. The error wraps errors.ErrUnsupported if the server does not execute scripts.
func (s *shared) Update(ctx context.Context, key []byte, change func(old []byte) (value []byte, ttl time.Duration)) error {
	if key == nil {
		return nil
	}
	l := &s.ledgers
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	turn := l.turns[maphash.Bytes(l.seed, key)%uint64(len(l.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return fmt.Errorf("redisstore: given up: %w", context.Cause(ctx))
	}
	q, err := l.queueOf(ctx, key)
	if err != nil {
		return err
	}
	if !q.circuit.Allow() {
		return q.suspended
	}
	began := time.Now()
	err = l.update(ctx, string(key), change)
	switch {
	case err == nil:
		q.circuit.Succeeded()
		return nil
	case scriptRefused(err):
		return fmt.Errorf("redisstore: the server does not execute scripts (allow EVALSHA and EVAL, and GET and SET in scripts): %w: %w", err, errors.ErrUnsupported)
	case errors.Is(err, redis.ErrClosed):
		return ErrClosed
	case isReply(err):
		return fmt.Errorf("redisstore: %w (key %q)", err, key)
	}
	q.circuit.Failed(began, err)
	return q.connectionError(err)
}

// update is Update without what belongs to the server.
func (l *ledgers) update(ctx context.Context, key string, change func([]byte) ([]byte, time.Duration)) error {
	old, err := l.client.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	command, name := "evalsha", swap.hash
	for {
		read := []byte(old)
		if old == "" {
			read = nil
		}
		value, ttl := change(read)
		if value == nil {
			return nil
		}
		cmd := once{redis.NewStringSliceCmd(ctx, command, name, 1, key, old, value, max(ttl, time.Millisecond).Milliseconds())}
		switch err := l.client.Process(ctx, cmd); {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			command, name = "eval", swap.source
		case err != nil:
			return err
		case len(cmd.Val()) == 0:
			return nil
		default:
			old = cmd.Val()[0]
		}
	}
}
