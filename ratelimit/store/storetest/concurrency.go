package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	callers      = 8
	contestedLen = 3 // keys that all callers use
)

func concurrencyCases(o *Options) []Case {
	cases := []Case{
		{"concurrency/sum", "a lost addition allows a request beyond the limit", checkSum},
		{"concurrency/readers", "a counter only grows; a reader that sees it shrink would report a limit as regained", checkReaders},
	}
	if o.Flush != nil {
		return cases
	}
	return append(cases, Case{"concurrency/ranks", "of concurrent requests, exactly as many as the limit allows may be within it", checkRanks})
}

// together runs f once per caller, concurrently.
func together(f func(caller int) error) error {
	errs := make([]error, callers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for c := range callers {
		all.Go(func() {
			<-start
			errs[c] = f(c)
		})
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// togetherEach runs f p.callsEach times per caller, the callers concurrently.
func (p *probe) togetherEach(f func(caller, call int) error) error {
	return together(func(caller int) error {
		for call := range p.callsEach {
			if err := f(caller, call); err != nil {
				return err
			}
		}
		return nil
	})
}

func contested(i int) string { return fmt.Sprint("contested", i%contestedLen) }

func checkRanks(p *probe) error {
	var mu sync.Mutex
	ranks := make([][]uint64, contestedLen)
	err := p.togetherEach(func(caller, i int) error {
		key := (caller + i) % contestedLen
		call := hits{p.hit(contested(key), 1)}
		err := p.store.Add(p.ctx, call)
		mu.Lock()
		defer mu.Unlock()
		ranks[key] = append(ranks[key], call[0].Count)
		return err
	})
	if err != nil {
		return err
	}
	for key, got := range ranks {
		slices.Sort(got)
		for i, rank := range got {
			if rank != uint64(i+1) {
				return fmt.Errorf("%d additions of 1 to the counter %q gave rank %d where %d belongs: ranks must be given out once each",
					len(got), contested(key), rank, i+1)
			}
		}
		if err := p.final(p.hit(contested(key), 0), uint64(len(got))); err != nil {
			return err
		}
	}
	return nil
}

func checkSum(p *probe) error {
	const keys = 20
	var mu sync.Mutex
	var want [keys]uint64
	err := together(func(caller int) error {
		random := rand.New(rand.NewPCG(uint64(caller), 1))
		var mine [keys]uint64
		for range p.callsEach {
			call := make(hits, 1+random.IntN(4))
			for i := range call {
				key, n := random.IntN(keys), random.Uint64N(4)
				call[i] = p.hit(fmt.Sprint("sum", key), n)
				mine[key] += n
			}
			if err := p.store.Add(p.ctx, call); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for key, n := range mine {
			want[key] += n
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, n := range want {
		if err := p.final(p.hit(fmt.Sprint("sum", key), 0), n); err != nil {
			return fmt.Errorf("after all callers were done: %w", err)
		}
	}
	return nil
}

func checkReaders(p *probe) error {
	most := uint64(callers / 2 * p.callsEach)
	return first(
		func() error {
			return together(func(caller int) error {
				if caller%2 == 0 {
					return p.write()
				}
				return p.watch(most)
			})
		},
		func() error { return p.final(p.hit("read", 0), most) },
	)
}

func (p *probe) write() error {
	for range p.callsEach {
		if err := p.store.Add(p.ctx, hits{p.hit("read", 1)}); err != nil {
			return err
		}
	}
	return nil
}

// watch reads a counter during additions.
func (p *probe) watch(most uint64) error {
	seen := uint64(0)
	call := make([]ratelimit.Hit, 1)
	for range p.callsEach {
		call[0] = p.hit("read", 0)
		if err := p.store.Add(p.ctx, call); err != nil {
			return err
		}
		if got := call[0].Count; got < seen || got > most {
			return fmt.Errorf("a reader saw %d after %d, of %d additions of 1", got, seen, most)
		}
		seen = call[0].Count
	}
	return nil
}
