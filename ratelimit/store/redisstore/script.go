package redisstore

import (
	"context"
	"crypto/sha1" // the name that Redis gives a script
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// none is the context of a command in a pipeline, which the pipeline's replaces.
var none = context.Background()

// unlessOver is AddUnlessOver. For each key it takes how much to add, the limit, and
// for how many milliseconds the counter is to live. It answers with the counts as
// text, because Lua's numbers are exact only to 2^53; for comparing with a limit they
// do. An expiry is set for a counter that has none.
const unlessOver = `
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
    local answer = redis.pcall('INCRBY', key, n)
    if type(answer) == 'table' and answer.err then
      if not string.find(answer.err, 'overflow', 1, true) then return answer end
      redis.call('SET', key, '9223372036854775807', 'KEEPTTL')
    end
    if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, ARGV[3*i]) end
  end
  counts[i] = redis.call('GET', key) or '0'
end
return counts
`

var unlessOverName = nameOf(unlessOver)

func nameOf(script string) string {
	sum := sha1.Sum([]byte(script)) // not for security
	return hex.EncodeToString(sum[:])
}

// writeQuestions makes the commands of calls that have an answer of their own.
func (b *batch) writeQuestions(n *node) {
	for i := range b.asks {
		q := &b.asks[i]
		if q.done {
			continue
		}
		q.cmd = redis.NewCmd(none, q.args(n)...)
		b.cmds = append(b.cmds, q.cmd)
	}
}

func (q *question) args(n *node) []any {
	c := q.call
	if c.kind == pinging {
		return []any{"ping"}
	}
	args := make([]any, 0, 3+4*len(c.items))
	if q.text {
		args = append(args, "eval", unlessOver)
	} else {
		args = append(args, "evalsha", unlessOverName)
	}
	args = append(args, len(c.items))
	for i := range c.items {
		args = append(args, c.key(&c.items[i]))
	}
	now := n.opts.Now()
	for i := range c.items {
		it := &c.items[i]
		args = append(args, it.n, it.limit, it.ttl(now).Milliseconds())
	}
	return args
}

// read takes the answer, or has the question put again.
func (q *question) read(c *conn) {
	switch err := q.cmd.Err(); {
	case err == nil:
		q.done = true
		if q.call.kind == conditional {
			q.call.err = q.counts(c)
		}
	case !isReply(err) || again(err):
	case strings.HasPrefix(err.Error(), "NOSCRIPT"):
		q.text = true
	case q.call.kind == pinging && forbidden(err):
		q.done = true // an answer is all that was asked for
	default:
		q.done, q.call.err = true, replyError(c, err)
	}
	q.cmd = nil
}

func (q *question) counts(c *conn) error {
	texts, err := q.cmd.StringSlice()
	if err == nil && len(texts) != len(q.call.items) {
		err = fmt.Errorf("%d counts for %d keys", len(texts), len(q.call.items))
	}
	for i := range texts {
		if err != nil {
			break
		}
		var n int64
		n, err = strconv.ParseInt(texts[i], 10, 64)
		q.call.items[i].count = uint64(max(n, 0))
	}
	if err != nil {
		return replyError(c, err)
	}
	return nil
}
