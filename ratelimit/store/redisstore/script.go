package redisstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// script is the source of a script, and its name for EVALSHA.
type script struct{ source, hash string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// scripted is the charges, or the subtractions, of a batch on one key: one call of a script, which
// has no other key, so that a cluster and a proxy can pass it on.
type scripted struct {
	script  *script
	key     []byte
	hash    uint64 // of the key
	charges []byte // an argument
	args    []any  // those of subtractions
	numbers int    // in the reply for each
	count   int    // of charges or subtractions

	source bool // send the script itself: the server does not know its hash
	done   bool
	err    error
	cmd    *redis.IntSliceCmd
	reply  []int64
}

// evalScript is an EVAL or EVALSHA: see incrBy.
type evalScript struct{ *redis.IntSliceCmd }

// NoRetry implements redis.Cmder.
func (evalScript) NoRetry() bool { return true }

// mergeScripted assigns the charges and the subtractions of a call to the scripted of their keys.
func (b *batch) mergeScripted(t *expiryTable, c *call) {
	for i := range c.charges {
		it := &c.charges[i]
		a := algorithmOf(it.charge.Algorithm)
		s := b.findScripted(t, c.chargeKey(it), &a.script)
		it.scripted, it.position = s, b.scripted[s].count
		b.scripted[s].charges = a.append(b.scripted[s].charges, &it.charge)
		b.scripted[s].numbers = a.numbers
		b.scripted[s].count++
	}
	if c.kind != subtractCall {
		return
	}
	for i := range c.items {
		it := &c.items[i]
		s := b.findScripted(t, c.key(it), &subtraction)
		it.counter, it.position = s, b.scripted[s].count
		b.scripted[s].args = append(b.scripted[s].args, it.n)
		b.scripted[s].numbers = 1
		b.scripted[s].count++
	}
}

// findScripted returns the index of the last scripted of a key. If two keys share a hash, or
// two scripts a key, there are several: they are called in the order of the calls.
func (b *batch) findScripted(t *expiryTable, key []byte, use *script) int {
	hash := t.hash(key)
	if at, ok := b.scriptedIndex[hash]; ok && b.scripted[at].script == use && bytes.Equal(b.scripted[at].key, key) {
		return at
	}
	at := len(b.scripted)
	b.scriptedIndex[hash] = at
	if at == cap(b.scripted) {
		b.scripted = append(b.scripted, scripted{})
	}
	b.scripted = b.scripted[:at+1]
	s := &b.scripted[at]
	*s = scripted{script: use, key: key, hash: hash, charges: s.charges[:0], args: s.args[:0]}
	return at
}

// resetScripted keeps the memory of arguments, unless it is large.
func (b *batch) resetScripted() {
	const maxCharges = 16 << 10
	for i := range b.scripted {
		s := &b.scripted[i]
		clear(s.args)
		if cap(s.charges) > maxCharges || cap(s.args) > maxBatchHits {
			s.charges, s.args = nil, nil
		}
		*s = scripted{charges: s.charges[:0], args: s.args[:0]}
	}
	b.scripted = b.scripted[:0]
	clear(b.scriptedIndex)
}

// write makes the command.
func (s *scripted) write() redis.Cmder {
	args := make([]any, 4, 5+len(s.args))
	args[0], args[1], args[2], args[3] = "evalsha", s.script.hash, "1", s.key
	if s.source {
		args[0], args[1] = "eval", s.script.source
	}
	if len(s.charges) > 0 {
		args = append(args, s.charges)
	}
	s.cmd = redis.NewIntSliceCmd(noContext, append(args, s.args...)...)
	return evalScript{s.cmd}
}

// take stores the result, unless the script needs another attempt.
func (s *scripted) take(err error) {
	switch {
	case err == nil:
		s.done, s.reply = true, s.cmd.Val()
		if len(s.reply) != s.numbers*s.count {
			s.err = fmt.Errorf("redisstore: reply of a script: %d numbers instead of %d", len(s.reply), s.numbers*s.count)
		}
	case uncounted(err):
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		s.source = true
	case scriptRefused(err):
		s.done, s.err = true, fmt.Errorf("%w (allow EVALSHA and EVAL, and GET, SET, INCRBY and DECRBY in scripts): %w", err, errors.ErrUnsupported)
	case isReply(err):
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

// resolveScripted gives the charges and the subtractions of a call their results.
func (b *batch) resolveScripted(c *call) {
	for i := range c.charges {
		it := &c.charges[i]
		s := &b.scripted[it.scripted]
		if it.err = s.err; s.err == nil {
			it.state(s.reply[it.position*s.numbers:][:s.numbers])
		}
	}
	if c.kind != subtractCall {
		return
	}
	for i := range c.items {
		it := &c.items[i]
		s := &b.scripted[it.counter]
		if it.err = s.err; s.err == nil {
			it.count = uint64(max(s.reply[it.position], 0))
		}
	}
}

// state stores what a script has replied.
func (it *chargeItem) state(numbers []int64) {
	t := &it.charge
	t.Allowed, t.State = numbers[0] >= 0, ratelimit.State{}
	copy(t.State[:], numbers)
	if !t.Allowed {
		t.State[0] = -1 - numbers[0]
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
