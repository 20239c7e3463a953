package storetest_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// ledgers is a reference with ledgers.
type ledgers struct {
	*reference
	mu     sync.Mutex
	values map[string][]byte
	update func(l *ledgers, key []byte, change change) error // nil for one that is right
}

type change = func(old []byte) (value []byte, ttl time.Duration)

func (l *ledgers) Update(_ context.Context, key []byte, change change) error {
	if l.update != nil {
		return l.update(l, key, change)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(key, change)
}

func (l *ledgers) set(key []byte, change change) error {
	if key == nil {
		return nil
	}
	if value, _ := change(l.values[string(key)]); value != nil {
		l.values[string(key)] = value
	}
	return nil
}

func TestLedgerDefects(t *testing.T) {
	opts := &storetest.Options{Ledgers: true}
	storetest.Run(t, func(*testing.T) ratelimit.Store {
		return &ledgers{reference: newReference(), values: map[string][]byte{}}
	}, opts)
	kept := map[*ledgers][][]byte{}
	for noticed, update := range map[string]func(l *ledgers, key []byte, change change) error{
		"ledger/values": func(l *ledgers, key []byte, change change) error {
			value, _ := change(l.values[string(key)])
			l.values[string(key)] = value // although it is nil
			return nil
		},
		"ledger/buffers": func(l *ledgers, key []byte, change change) error {
			if len(kept[l]) == 0 {
				kept[l] = append(kept[l], key)
			}
			return l.set(kept[l][0], change)
		},
		"ledger/none": func(l *ledgers, key []byte, change change) error {
			if key == nil {
				return context.Canceled
			}
			return l.set(key, change)
		},
		"ledger/race": func(l *ledgers, key []byte, change change) error {
			l.mu.Lock()
			old := l.values[string(key)]
			l.mu.Unlock()
			value, _ := change(old)
			runtime.Gosched()
			l.mu.Lock()
			defer l.mu.Unlock()
			if value != nil {
				l.values[string(key)] = value
			}
			return nil
		},
		"ledger/canceled": func(*ledgers, []byte, change) error {
			return context.Canceled
		},
	} {
		t.Run(noticed, func(t *testing.T) {
			mustFail(t, noticed, &ledgers{reference: newReference(), values: map[string][]byte{}, update: update}, opts)
		})
	}
	mustFail(t, "ledger/declared", newReference(), opts)
}
