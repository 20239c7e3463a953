package main

import (
	"context"
	"os"
	"time"
)

// A meter reads the CPU time of processes, the generator among them. It is empty,
// and reads nothing, where there is no proc file system and nobody needs it.
type meter struct {
	proc *procfs
}

// newMeter proves that the processes to watch can be read. With none to watch
// there need not be a proc file system.
func newMeter(root string, watched []int) (*meter, error) {
	proc, err := openProcfs(root)
	if err != nil && len(watched) > 0 {
		return nil, err
	}
	m := &meter{proc: proc}
	_, err = m.read(watched)
	return m, err
}

// read returns the CPU time so far of each process, and of the generator last.
func (m *meter) read(pids []int) ([]time.Duration, error) {
	if m.proc == nil {
		return nil, nil
	}
	times := make([]time.Duration, 0, len(pids)+1)
	for _, pid := range append(pids[:len(pids):len(pids)], os.Getpid()) {
		d, err := m.proc.cpu(pid)
		if err != nil {
			return nil, err
		}
		times = append(times, d)
	}
	return times, nil
}

// A measurement is an outcome with the CPU time that it cost.
type measurement struct {
	*outcome
	cpu       []time.Duration // of each of the target's processes; nil if it could not be read
	generator time.Duration
}

// measure drives the target and reads the clocks of its processes before and
// after. If they cannot be read before, nothing is driven; if not after, the
// measurement is there without them, beside the error.
func (m *meter) measure(ctx context.Context, l *load, t *target, d time.Duration) (*measurement, error) {
	before, err := m.read(t.pids)
	if err != nil {
		return nil, err
	}
	result := &measurement{outcome: l.drive(ctx, t, d)}
	after, err := m.read(t.pids)
	if err != nil || after == nil {
		return result, err
	}
	for i := range after {
		after[i] -= before[i]
	}
	result.cpu, result.generator = after[:len(t.pids)], after[len(t.pids)]
	return result, nil
}

// perSecond is the rate of answered calls.
func (m *measurement) perSecond() float64 {
	return float64(m.answered()) / m.elapsed.Seconds()
}

// perCall is the microseconds of d for each answered call, 0 if there was none.
func (m *measurement) perCall(d time.Duration) float64 {
	if m.answered() == 0 {
		return 0
	}
	return micros(d) / float64(m.answered())
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
