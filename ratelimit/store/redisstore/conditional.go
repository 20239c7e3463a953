package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// unlessOver is AddUnlessOver as a script. For each key it takes how much to add, the
// limit, and the time to live in milliseconds. It returns the counts as strings, because
// Lua's numbers are exact only to 2^53, which is enough to compare them with limits. It
// sets the expiry of counters that have none, with EXPIRE where commands were renamed.
var unlessOver = newScript(`
local refused, over = false, {}
for i, key in ipairs(KEYS) do
  local value = tonumber(redis.call('GET', key) or '0')
  if value + tonumber(ARGV[3*i-2]) > tonumber(ARGV[3*i-1]) then
    refused = true
    over[i] = true
  end
end
local counts = {}
for i, key in ipairs(KEYS) do
  local n = ARGV[3*i-2]
  if n ~= '0' and (not refused or over[i]) then
    local reply = redis.pcall('INCRBY', key, n)
    if type(reply) == 'table' and reply.err then
      if not string.find(reply.err, 'overflow', 1, true) then return reply end
      redis.call('SET', key, '9223372036854775807', 'KEEPTTL')
    end
    local ttl = redis.pcall('PTTL', key)
    if ttl == -1 or type(ttl) == 'table' then
      local reply = redis.pcall('PEXPIRE', key, ARGV[3*i])
      if type(reply) == 'table' then redis.pcall('EXPIRE', key, math.ceil(ARGV[3*i]/1000)) end
    end
  end
  counts[i] = redis.call('GET', key) or '0'
end
return counts
`)

// AddUnlessOver implements ratelimit.ConditionalStore with a script, which the server
// executes as one step. It returns an error that wraps errors.ErrUnsupported where scripts are not
// available, and behind a proxy, which would execute them on the server of the first key. An
// Engine then reads the counters first and adds then.
func (s *Store) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	switch s.scripts.Load() {
	case noScripts:
		return errNoScripts
	case unknownScripts:
		if !s.queue.circuit.Allow() {
			return s.queue.suspended
		}
		found := s.finding.DoChan("", func() (any, error) { return nil, s.findScripts() })
		select {
		case r := <-found:
			if r.Err != nil {
				return r.Err
			}
			return s.AddUnlessOver(ctx, hits)
		case <-ctx.Done():
			return fmt.Errorf("redisstore: given up: %w", context.Cause(ctx))
		}
	}
	err := s.send(ctx, request{kind: conditionalCall, hits: hits})
	if unsupported(err) {
		s.scripts.Store(noScripts)
		return errNoScripts
	}
	return err
}

var errNoScripts = fmt.Errorf("redisstore: the server executes no scripts with several keys: %w", errors.ErrUnsupported)

// Whether scripts can be used.
const (
	unknownScripts int32 = iota
	useScripts
	noScripts
)

// findScripts finds out whether the store is connected to a server or to a proxy. WAIT is a
// command without a key, which no proxy can pass on, and with these arguments it does nothing.
// Some proxies close the connection, which may break by itself too, so that is tried again.
func (s *Store) findScripts() (err error) {
	began := time.Now()
	defer func() {
		if err != nil {
			s.queue.circuit.Failed(began, err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer cancel()
	client := s.dialer.single(ctx, s.queue.name)
	defer func() { _ = client.Close() }()
	for range 3 {
		if err := client.Ping(ctx).Err(); err != nil && !isReply(err) {
			return s.queue.connectionError(err)
		}
		err := client.Do(ctx, "wait", 0, 0).Err()
		switch {
		case err == nil, redis.IsPermissionError(err), isReply(err) && !unsupported(err):
			s.scripts.CompareAndSwap(unknownScripts, useScripts)
			return nil
		case isReply(err):
			s.scripts.Store(noScripts)
			return nil
		case ctx.Err() != nil:
			return s.queue.connectionError(err)
		}
	}
	s.scripts.Store(noScripts)
	return nil
}
