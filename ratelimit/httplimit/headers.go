package httplimit

import (
	"net/http"
	"strconv"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// headerNames are canonical, so that they can be map keys of an http.Header.
// Without a limit's name there are none.
type headerNames struct{ limit, remaining, reset string }

func (s HeaderStyle) names() (names headerNames, ok bool) {
	switch s {
	case RateLimitHeaders:
		return headerNames{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}, true
	case XRateLimitHeaders:
		return headerNames{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}, true
	case NoHeaders:
		return headerNames{}, true
	}
	return headerNames{}, false
}

// set writes the numbers of a status. All three share one string and one array,
// which makes two allocations of what would be six.
func (n *headerNames) set(h http.Header, s *ratelimit.Status, reset uint64) {
	if n.limit == "" {
		return
	}
	var buf [2*len("4294967295") + len("18446744073709551615")]byte
	b := strconv.AppendUint(buf[:0], uint64(s.RequestsPerUnit), 10)
	limit := len(b)
	b = strconv.AppendUint(b, uint64(s.Remaining), 10)
	remaining := len(b)
	b = strconv.AppendUint(b, reset, 10)
	text := string(b)
	values := &[3]string{text[:limit], text[limit:remaining], text[remaining:]}
	// No room behind each, or a handler that adds a value would overwrite the next.
	h[n.limit] = values[0:1:1]
	h[n.remaining] = values[1:2:2]
	h[n.reset] = values[2:3:3]
}
