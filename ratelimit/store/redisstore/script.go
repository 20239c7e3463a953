package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// script is the source of a script, and its name for EVALSHA.
type script struct{ source, hash string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// evalScript is an EVAL or EVALSHA: see incrBy.
type evalScript struct{ *redis.IntSliceCmd }

// NoRetry implements redis.Cmder.
func (evalScript) NoRetry() bool { return true }

// mergeConditional makes a command of a call of AddUnlessOver.
func (b *batch) mergeConditional(c *call, now time.Time) {
	s := b.next(conditionalCall, &unlessOver)
	s.keys, s.perItem, s.total = len(c.items), 1, uint64(len(c.items))
	for i := range c.items {
		c.items[i].command, c.items[i].before = len(b.commands)-1, uint64(i)
		s.args = append(s.args, c.hits[i].Key)
	}
	for i := range c.hits {
		h := &c.hits[i]
		s.args = append(s.args, h.N, h.Limit, ttlOf(h, now).Milliseconds())
	}
}

// write makes the command.
func (s *command) write() redis.Cmder {
	if s.script == nil {
		s.cmd = redis.NewStatusCmd(noContext, "ping")
		return s.cmd
	}
	args := make([]any, 3, 5+len(s.args))
	args[0], args[1], args[2] = "evalsha", s.script.hash, s.keys
	if s.source {
		args[0], args[1] = "eval", s.script.source
	}
	if s.key != nil {
		args = append(args, s.key)
	}
	if len(s.charges) > 0 {
		args = append(args, s.charges)
	}
	s.cmd = evalScript{redis.NewIntSliceCmd(noContext, append(args, s.args...)...)}
	return s.cmd
}

// finish stores the result, unless the command needs another attempt.
func (s *command) finish(err error) {
	cmd, isScript := s.cmd.(evalScript)
	switch {
	case !isScript && (err == nil || redis.IsPermissionError(err)):
		s.done = true
	case err == nil:
		s.done, s.reply = true, cmd.Val()
		if want := s.perItem * int(s.total); len(s.reply) != want {
			s.err = fmt.Errorf("redisstore: reply of a script: %d numbers instead of %d", len(s.reply), want)
		}
	case uncounted(err):
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		s.source = true
	case isScript && scriptRefused(err):
		s.done, s.err = true, fmt.Errorf("%w (allow EVALSHA and EVAL, and GET, SET, INCRBY and DECRBY in scripts): %w", err, errors.ErrUnsupported)
	case isReply(err) && s.key != nil:
		s.done, s.err = true, fmt.Errorf("%w (key %q)", err, s.key)
	default:
		s.done, s.err = true, err
	}
}

// scriptRefused reports whether a server does not execute scripts, or a command in them.
func scriptRefused(err error) bool {
	if !isReply(err) {
		return false
	}
	text := strings.ToLower(err.Error())
	return unsupported(err) || strings.Contains(text, "command called from script") || strings.Contains(text, "can't run this command")
}

// subtraction subtracts each of its arguments from a counter, which stops at zero, and returns
// the counts after that, as text: see unlessOver. DECRBY and INCRBY keep the expiry.
var subtraction = newScript(`
local value, counts = redis.call('GET', KEYS[1]) or '0', {}
if not string.find(value, '^-?%d+$') then
  return redis.error_reply('ERR the value of the key is not a counter')
end
for i, n in ipairs(ARGV) do
  if n ~= '0' and string.find(value, '^[1-9]') then
    redis.call('DECRBY', KEYS[1], n)
    value = redis.call('GET', KEYS[1])
    if string.find(value, '^-') then
      redis.call('INCRBY', KEYS[1], string.sub(value, 2))
      value = '0'
    end
  end
  counts[i] = value
end
return counts
`)
