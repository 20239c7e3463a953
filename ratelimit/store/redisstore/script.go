package redisstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// script is the source of a script, and its name for EVALSHA.
type script struct{ source, hash string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// scriptCall is a command with a reply of its own: the charges, or the subtractions, of a batch on one
// key as one call of a script, which has no other key, so that a cluster and a proxy can pass it on;
// or a call of unlessOver, or a PING.
type scriptCall struct {
	script  *script // nil for a PING
	key     []byte  // nil if args has the keys
	keys    int
	charges []byte // an argument
	args    []any
	numbers int // in the reply for each
	count   int // of charges or hits

	source bool // send the script itself: the server does not know its hash
	done   bool
	err    error
	cmd    redis.Cmder
	reply  []int64
}

// evalScript is an EVAL or EVALSHA: see incrBy.
type evalScript struct{ *redis.IntSliceCmd }

// NoRetry implements redis.Cmder.
func (evalScript) NoRetry() bool { return true }

// mergeScripts assigns a call that is no addition to script calls.
func (b *batch) mergeScripts(t *expiryTable, c *call, now time.Time) {
	switch c.kind {
	case pingCall:
		c.ping = b.addScript(nil, nil)
		return
	case conditionalCall:
		b.mergeConditional(c, now)
		return
	}
	for i := range c.items {
		it := &c.items[i]
		use := &subtraction
		var a *algorithm
		if c.kind == chargeCall {
			a = algorithmOf(c.charges[i].Algorithm)
			use = &a.script
		}
		it.command = b.findScript(t, c.key(it), use)
		s := &b.scripts[it.command]
		if it.position = s.count; a != nil {
			s.charges, s.numbers = a.append(s.charges, &c.charges[i]), a.numbers
		} else {
			s.args, s.numbers = append(s.args, it.n), 1
		}
		s.count++
	}
}

func (b *batch) mergeConditional(c *call, now time.Time) {
	at := b.addScript(&unlessOver, nil)
	s := &b.scripts[at]
	s.keys, s.numbers, s.count = len(c.items), 1, len(c.items)
	for i := range c.items {
		c.items[i].command, c.items[i].position = at, i
		s.args = append(s.args, c.key(&c.items[i]))
	}
	for i := range c.items {
		it := &c.items[i]
		s.args = append(s.args, it.n, it.limit, it.ttl(now).Milliseconds())
	}
}

// findScript returns the index of the last call of a script with a key. If two keys share a hash, or
// two scripts a key, there are several: they are made in the order of the requests.
func (b *batch) findScript(t *expiryTable, key []byte, use *script) int {
	hash := t.hash(key)
	if at, ok := b.scriptIndex[hash]; ok && b.scripts[at].script == use && bytes.Equal(b.scripts[at].key, key) {
		return at
	}
	b.scriptIndex[hash] = len(b.scripts)
	return b.addScript(use, key)
}

// addScript appends a script call, in the memory of an earlier one if there is some.
func (b *batch) addScript(use *script, key []byte) int {
	at := len(b.scripts)
	b.scripts = slices.Grow(b.scripts, 1)[:at+1]
	s := &b.scripts[at]
	*s = scriptCall{script: use, key: key, keys: 1, charges: s.charges[:0], args: s.args[:0]}
	return at
}

// resetScripts keeps the memory of arguments, unless it is large.
func (b *batch) resetScripts() {
	const maxCharges = 16 << 10
	for i := range b.scripts {
		s := &b.scripts[i]
		clear(s.args)
		if cap(s.charges) > maxCharges || cap(s.args) > maxBatchHits {
			s.charges, s.args = nil, nil
		}
		*s = scriptCall{charges: s.charges[:0], args: s.args[:0]}
	}
	b.scripts = b.scripts[:0]
	clear(b.scriptIndex)
}

// write makes the command.
func (s *scriptCall) write() redis.Cmder {
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
func (s *scriptCall) finish(err error) {
	cmd, isScript := s.cmd.(evalScript)
	switch {
	case !isScript && (err == nil || redis.IsPermissionError(err)):
		s.done = true
	case err == nil:
		s.done, s.reply = true, cmd.Val()
		if len(s.reply) != s.numbers*s.count {
			s.err = fmt.Errorf("redisstore: reply of a script: %d numbers instead of %d", len(s.reply), s.numbers*s.count)
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

// resolveScripts gives a call that is no addition its results.
func (b *batch) resolveScripts(c *call) {
	if c.kind == pingCall {
		c.err = b.scripts[c.ping].err
	}
	for i := range c.items {
		it := &c.items[i]
		s := &b.scripts[it.command]
		if it.err = s.err; s.err != nil {
			continue
		}
		numbers := s.reply[it.position*s.numbers:][:s.numbers]
		if c.kind != chargeCall {
			it.count = uint64(max(numbers[0], 0))
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
