package accounts

import (
	"errors"
	"maps"
	"sync"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Statistics holds the counts of a [Service] since it was created.
type Statistics struct {
	// Logins are attempts to log in by result: ok, wrong_password (also for an unknown user), inactive,
	// throttled, and failed for other errors.
	Logins map[string]int64
	// APITokens are uses of API tokens by result: ok, malformed, expired, revoked (also unknown), and failed
	// for errors of the store.
	APITokens map[string]int64
}

// Statistics returns what the service has counted. All results are present.
func (s *Service) Statistics() Statistics {
	return Statistics{
		s.logins.all("ok", "wrong_password", "inactive", "throttled", "failed"),
		s.tokenUses.all("ok", "malformed", "expired", "revoked", "failed"),
	}
}

// counts counts by result.
type counts struct {
	mu sync.Mutex
	of map[string]int64
}

func (c *counts) add(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int64{}
	}
	c.of[result]++
}

// all returns the numbers, with 0 for these results that have not occurred.
func (c *counts) all(results ...string) map[string]int64 {
	all := map[string]int64{}
	for _, result := range results {
		all[result] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(all, c.of)
	return all
}

// countLogin counts an attempt to log in with its error.
func (s *Service) countLogin(err error) {
	result := "failed"
	var many *TooManyError
	switch kind := records.KindOf(err); {
	case err == nil:
		result = "ok"
	case kind == records.Unauthenticated:
		result = "wrong_password"
	case kind == records.Forbidden:
		result = "inactive"
	case errors.As(err, &many):
		result = "throttled"
	}
	s.logins.add(result)
}

// countTokenUse counts a use of an API token with its error.
func (s *Service) countTokenUse(err error) {
	switch kind := auth.KindOf(err); {
	case err == nil:
		s.tokenUses.add("ok")
	case kind.Unauthorized():
		s.tokenUses.add(kind.String())
	default:
		s.tokenUses.add("failed")
	}
}
