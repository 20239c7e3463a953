package storetest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var ledgerCases = []Case{
	{"ledger/values", "a ledger that is lost frees hits that were reserved", func(p *probe) {
		p.update("a", "", "1 2 3")
		p.update("b", "", "")
		p.update("a", "1 2 3", "")
		p.update("a", "1 2 3", "4")
		p.update("a", "4", "")
		p.update("b", "", "\x00 any bytes \xff")
		p.update("b", "\x00 any bytes \xff", "")
	}},
	{"ledger/buffers", "the engine uses the memory of keys again for the next request", func(p *probe) {
		p.update("c", "", "1")
		p.update("d", "", "2")
		p.update("c", "1", "")
	}},
	{"ledger/none", "an engine asks without a key whether a store can hold the limits", func(p *probe) {
		if err := p.store.(ratelimit.LedgerStore).Update(p.ctx, nil, nil); err != nil {
			p.fail("calling Update without a key returned the error %q, want none", err)
		}
	}},
	{"ledger/race", "an update that is lost charges less than was settled", func(p *probe) {
		p.togetherEach(func(_, _ int) error {
			return p.store.(ratelimit.LedgerStore).Update(p.ctx, []byte(p.run+"race"), func(old []byte) ([]byte, time.Duration) {
				n, _ := strconv.Atoi(string(old))
				return strconv.AppendInt(nil, int64(n)+1, 10), time.Hour
			})
		})
		p.update("race", fmt.Sprint(callers*p.callsEach), "")
	}},
	{"ledger/canceled", "a canceled call must return, and the store must keep working", func(p *probe) {
		p.ended(func(ctx context.Context) {
			_ = p.store.(ratelimit.LedgerStore).Update(ctx, []byte(p.run+"canceled"), func([]byte) ([]byte, time.Duration) { return []byte("1"), time.Hour })
		})
		p.update("after", "", "1")
	}},
}

// update replaces the value of a key, which must be as wanted, unless the new one is empty.
func (p *probe) update(key, want, value string) {
	if p.err != nil {
		return
	}
	name, got := []byte(p.run+key), ""
	err := p.store.(ratelimit.LedgerStore).Update(p.ctx, name, func(old []byte) ([]byte, time.Duration) {
		if got = string(old); value == "" {
			return nil, 0
		}
		return []byte(value), time.Hour
	})
	clear(name)
	if err != nil || got != want {
		p.fail("updating %q found %q with the error %v, want %q", key, got, err, want)
	}
}
