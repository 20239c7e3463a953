package redisstore

import (
	"encoding/binary"
	"math"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// algorithm applies charges in Redis: its script does what [ratelimit.Charge.Apply] does,
// for a list of charges from one key.
//
// ARGV[1] is the charges, each as so many 64-bit floating point numbers, little-endian: numbers in
// text would take the server longer than the rest of the script. They are whole and below
// 2^53, so exact. The state is text. It is written if hits were allowed or refunded, each time with
// its expiry. For each charge the script returns the State, of which the first number is n if the
// hits were allowed, and -1-n if not.
type algorithm struct {
	script script
	// numbers counts the numbers of State that are used.
	numbers int
	// append appends a charge.
	append func(b []byte, t *ratelimit.Charge) []byte
}

// algorithms is indexed by ratelimit.Algorithm.
var algorithms = [...]*algorithm{
	ratelimit.SlidingWindow: {newScript(readState + slidingWindow + writeState), 3, appendSlidingWindow},
	ratelimit.TokenBucket:   {newScript(readState + bucketScript + writeState), 2, appendTokenBucket},
	ratelimit.Concurrency:   {newScript(readState + concurrency + writeState), 9, appendConcurrency},
}

// algorithmOf returns nil if there is none.
func algorithmOf(a ratelimit.Algorithm) *algorithm {
	if int(a) >= len(algorithms) {
		return nil
	}
	return algorithms[a]
}

// readState begins a script.
const readState = `
local value = redis.call('GET', KEYS[1])
local charges, at, reply, ttl, longest, changed = ARGV[1], 1, {}, 0, 0, false
local unpack, size, i = struct.unpack, #charges, 1
`

// writeState ends a script. ttl is in microseconds; two seconds are added, because the clocks of
// instances differ, but not beyond longest, which is three windows.
const writeState = `
  ttl = ttl + 2000000
  if ttl > longest then ttl = longest > 2000000 and longest or 2000000 end
  redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', ttl / 1000))
end
return reply
`

// bucketScript keeps "full rest", or "full" if there is no rest. If clocks are apart, the same of the
// one that is behind follows, and whether that has charged hits.
const bucketScript = `
local full, rest, full2, rest2, two = 0, 0, 0, 0, 0
if value then
  local a, b = string.match(value, '^(%d+) ?(%d*)$')
  if not a then a, b, full2, rest2, two = string.match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+)$') end
  if not a then return redis.error_reply('ERR the value of the key is not the state of a token bucket') end
  full, rest, full2, rest2, two = tonumber(a), tonumber(b) or 0, tonumber(full2), tonumber(rest2), tonumber(two)
end
while at <= size do
  local now, mode, cost, costRest, most, mostRest, parts, length
  now, mode, cost, costRest, most, mostRest, parts, length, at = unpack('<dddddddd', charges, at)
  local full1, rest1, latest = full, rest, now + most
  if full > latest then latest = latest + math.max(most, math.min(length, 15000000)) end
  local ahead, older = full > latest, full < now - 3000000 and full > 0
  if ahead and full2 > 0 and full2 <= latest then
    full, rest = full2, rest2
  elseif ahead then
    local begin = 1 + (full - now - 1) % math.max(2 * most, 1)
    full = begin <= most and full - now > 4 * most and now + begin or now
  end
  if rest >= parts then rest = parts > 0 and parts - 1 or 0 end
  if full < now then full, rest = now, 0 end
  local allowed = true
  if mode == 2 then
    full, rest = full - cost, rest - costRest
    if rest < 0 then full, rest = full - 1, rest + parts end
    if full < now then full, rest = now, 0 end
  else
    local after, afterRest = full + cost, rest + costRest
    if afterRest >= parts and afterRest > 0 then after, afterRest = after + 1, afterRest - parts end
    local used = after - now
    if mode == 1 and (used > most or used == most and afterRest > mostRest or cost == 2251799813685248) then
      allowed = false
    else
      full, rest = after, afterRest
    end
  end
  longest = 3 * most
  if full + 1 - now > ttl then ttl = full + 1 - now end
  reply[i], reply[i + 1] = allowed and full or -1 - full, rest
  i = i + 2
  local charged = allowed and mode ~= 0
  if charged then changed = true end
  if ahead then
    if charged then full2, rest2, two = full, rest, 1 end
    full, rest, ttl = full1, rest1, math.max(ttl, most + 1)
  elseif older and not charged then
    full, rest = full1, rest1
  elseif older and two == 0 then
    full2, rest2 = full1, rest1
  end
end
if changed then
  local text = string.format(full2 > 0 and '%.0f %.0f %.0f %.0f %.0f' or rest > 0 and '%.0f %.0f' or '%.0f', full, rest, full2, rest2, two)
`

func appendTokenBucket(b []byte, t *ratelimit.Charge) []byte {
	mode := int64(0)
	switch {
	case t.N == 0:
	case t.Refund:
		mode = 2
	default:
		mode = 1
	}
	return appendNumbers(b, t.Now, mode, t.Params[0], t.Params[1], t.Params[2], t.Params[3], t.Params[4], t.Params[5])
}

// slidingWindow keeps "start hits before", and the same of a clock that is behind: see bucketScript.
const slidingWindow = `
local window, hits, last, window2, hits2, last2, two = 0, 0, 0, 0, 0, 0, 0
if value then
  local a, b, c = string.match(value, '^(%d+) (%d+) (%d+)$')
  if not a then a, b, c, window2, hits2, last2, two = string.match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$') end
  if not a then return redis.error_reply('ERR the value of the key is not the state of a sliding window') end
  window, hits, last = tonumber(a), tonumber(b), tonumber(c)
  window2, hits2, last2, two = tonumber(window2), tonumber(hits2), tonumber(last2), tonumber(two)
end
while at <= size do
  local n, start, before, weight, limit, stop, next, now
  n, start, before, weight, limit, stop, next, now, at = unpack('<dddddddd', charges, at)
  local window1, hits1, last1, ahead, older, left = window, hits, last, window > stop, false, next - now
  if ahead then
    local windows = math.floor((window - start) / math.max(stop - start, 1))
    window = start
    if window2 > 0 and window2 <= stop then
      window, hits, last = window2, hits2, last2
    elseif windows <= 3 or windows % 3 > 0 then
      hits, last = 0, windows > 3 and windows % 3 == 2 and hits or 0
    end
  end
  if window1 > start then left = left + next - stop end
  if window == before then
    window, hits, last = start, 0, hits
  elseif window < start then
    older = not ahead and window > 0 and window < now - 3000000 - (next - start)
    window, hits, last = start, 0, 0
  end
  local allowed = true
  if n < 0 then
    local back = math.min(-n, hits)
    hits, last = hits - back, math.max(last + n + back, 0)
  elseif n > 0 then
    local weighed, length = last, math.max(stop - start, 1)
    if window > start or now < start then
    elseif last * length <= 4503599627370496 then
      weighed = math.floor((last * (stop - now) + length - 1) / length)
    else
      weighed = math.floor((last * weight + 1048575) / 1048576)
    end
    if hits + weighed + n > limit then allowed = false else hits = hits + n end
  end
  longest = 1.5 * (next - start)
  if left > ttl then ttl = left end
  reply[i], reply[i + 1], reply[i + 2] = allowed and window or -1 - window, hits, last
  i = i + 3
  local charged = allowed and n ~= 0
  if charged then changed = true end
  if ahead then
    if charged then window2, hits2, last2, two = window, hits, last, 1 end
    window, hits, last = window1, hits1, last1
  elseif older and not charged then
    window, hits, last = window1, hits1, last1
  elseif older and two == 0 then
    window2, hits2, last2 = window1, hits1, last1
  end
end
if changed then
  local text = string.format(window2 > 0 and '%.0f %.0f %.0f %.0f %.0f %.0f %.0f' or '%.0f %.0f %.0f', window, hits, last, window2, hits2, last2, two)
`

func appendSlidingWindow(b []byte, t *ratelimit.Charge) []byte {
	return appendNumbers(b, signed(t), t.Params[0], t.Params[1], t.Params[2], t.Params[3], t.Params[4], t.Params[5], t.Now)
}

// concurrency keeps the newest slot and the eight numbers of permits. The expiry of permits of a clock that is
// ahead remains: see [ratelimit.Charge.Ahead].
const concurrency = `
local newest, used, ahead = 0, {[0] = 0, 0, 0, 0, 0, 0, 0, 0}
if value then
  local a, b, c, d, e, f, g, h, i = string.match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not a then return redis.error_reply('ERR the value of the key is not the state of a concurrency limit') end
  newest, used = tonumber(a), {[0] = tonumber(b), tonumber(c), tonumber(d), tonumber(e), tonumber(f), tonumber(g), tonumber(h), tonumber(i)}
end
while at <= size do
  local n, now, limit, length, since, micro
  n, now, limit, length, since, micro, at = unpack('<dddddd', charges, at)
  for slot = math.max(newest + 1, now - 7), now do used[slot % 8] = 0 end
  if now > newest then newest = now end
  local allowed = true
  if n < 0 then
    changed = true
    if since <= 0 or since > newest - 8 then
      local known = since > 0 and since <= newest
      for step = newest - (known and 8 or 7), newest do
        local slot = step == newest - 8 and since or step
        if slot >= 0 then
          local back = math.min(-n, used[slot % 8])
          used[slot % 8], n = used[slot % 8] - back, n + back
        end
      end
    end
  elseif n > 0 then
    local sum = n
    for slot = 0, 7 do sum = sum + used[slot] end
    if sum > limit then allowed = false else used[newest % 8], changed = used[newest % 8] + n, true end
  end
  local left = (newest + 8) * length - micro
  longest = 16 * length
  if left > ttl then ttl = left end
  ahead = newest > now + 8
  reply[i] = allowed and newest or -1 - newest
  for slot = 0, 7 do reply[i + 1 + slot] = used[slot] end
  i = i + 9
end
if changed then
  local left = ahead and redis.pcall('PTTL', KEYS[1])
  if type(left) == 'number' and left > 0 then ttl = 1000 * left - 2000000 end
  local text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f', newest,
    used[0], used[1], used[2], used[3], used[4], used[5], used[6], used[7])
`

func appendConcurrency(b []byte, t *ratelimit.Charge) []byte {
	return appendNumbers(b, signed(t), t.Params[0], t.Params[1], t.Params[2], t.Params[3], t.Now)
}

// signed returns the hits of a charge, which are negative if they are given back.
func signed(t *ratelimit.Charge) int64 {
	n := int64(min(t.N, 1<<53-1))
	if t.Refund {
		return -n
	}
	return n
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return b
}
