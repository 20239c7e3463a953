package inventory

import "context"

// memReaders is how many may read a [MemStore] at the same time.
const memReaders = 16

// memLock lets in many readers or one writer, and has nobody wait longer than their context
// lasts, which a sync.RWMutex would. Readers take one place, a writer takes all of them.
type memLock struct {
	places chan struct{}
	writer chan struct{} // for the one who takes all places, so that two don't have half each
}

func newMemLock() memLock {
	return memLock{make(chan struct{}, memReaders), make(chan struct{}, 1)}
}

// read waits for a place.
func (l memLock) read(ctx context.Context) (leave func(), err error) {
	if err := enter(ctx, l.places, 1); err != nil {
		return nil, err
	}
	return func() { exit(l.places, 1) }, nil
}

// write waits until nobody else is there.
func (l memLock) write(ctx context.Context) (leave func(), err error) {
	if err := enter(ctx, l.writer, 1); err != nil {
		return nil, err
	}
	if err := enter(ctx, l.places, memReaders); err != nil {
		exit(l.writer, 1)
		return nil, err
	}
	return func() {
		exit(l.places, memReaders)
		exit(l.writer, 1)
	}, nil
}

// enter takes n places, or none.
func enter(ctx context.Context, places chan struct{}, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for taken := range n {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			exit(places, taken)
			return ctx.Err()
		}
	}
	return nil
}

func exit(places chan struct{}, n int) {
	for range n {
		<-places
	}
}
