package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

const (
	callers      = 8
	contestedLen = 3 // keys that all callers use
)

var concurrencyCases = []Case{
	{"concurrency/sum", "a lost addition allows a request beyond the limit", checkSum},
	{"concurrency/readers", "a counter only grows; a reader that sees it shrink would report a limit as regained", checkReaders},
}

// together runs f once per caller, concurrently, and fails with the first error.
func (p *probe) together(f func(caller int) error) {
	if p.err != nil {
		return
	}
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
	p.check(cmp.Or(errs...))
}

// togetherEach runs f p.callsEach times per caller, the callers concurrently.
func (p *probe) togetherEach(f func(caller, call int) error) {
	p.together(func(caller int) (err error) {
		for call := 0; call < p.callsEach && err == nil; call++ {
			err = f(caller, call)
		}
		return err
	})
}

func contested(i int) string { return fmt.Sprint("contested", i%contestedLen) }

func checkRanks(p *probe) {
	var mu sync.Mutex
	ranks := make([][]uint64, contestedLen)
	p.togetherEach(func(caller, i int) error {
		key := (caller + i) % contestedLen
		call := hits{p.hit(contested(key), 1)}
		err := p.store.Add(p.ctx, call)
		mu.Lock()
		defer mu.Unlock()
		ranks[key] = append(ranks[key], call[0].Count)
		return err
	})
	for key, got := range ranks {
		slices.Sort(got)
		for i, rank := range got {
			if rank != uint64(i+1) {
				p.fail("%d additions of 1 to the counter %q gave rank %d instead of %d: ranks must be given out once each",
					len(got), contested(key), rank, i+1)
			}
		}
		p.final(p.hit(contested(key), 0), uint64(len(got)))
	}
}

func checkSum(p *probe) {
	const keys = 20
	var mu sync.Mutex
	var want [keys]uint64
	p.together(func(caller int) error {
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
	p.within("after all callers were done")
	for key, n := range want {
		p.final(p.hit(fmt.Sprint("sum", key), 0), n)
	}
}

// checkReaders has half of the callers add, while the others read.
func checkReaders(p *probe) {
	most := uint64(callers / 2 * p.callsEach)
	var seen [callers]uint64
	p.togetherEach(func(caller, _ int) error {
		if caller%2 == 0 {
			return p.store.Add(p.ctx, hits{p.hit("read", 1)})
		}
		call := hits{p.hit("read", 0)}
		if err := p.store.Add(p.ctx, call); err != nil {
			return err
		}
		got, before := call[0].Count, seen[caller]
		if seen[caller] = got; got < before || got > most {
			return fmt.Errorf("a reader saw %d after %d, of %d additions of 1", got, before, most)
		}
		return nil
	})
	p.final(p.hit("read", 0), most)
}
