package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// meter reads the CPU time of processes, the generator included. It reads nothing without a proc
// file system.
type meter struct {
	proc *procfs
}

// newMeter checks that the watched processes can be read. Without watched processes no proc file
// system is needed.
func newMeter(root string, watched []int) (*meter, error) {
	proc, err := openProcfs(root)
	if err != nil && len(watched) > 0 {
		return nil, err
	}
	m := &meter{proc: proc}
	_, err = m.read(watched)
	return m, err
}

// read returns the CPU time of each process so far, and of the generator as the last.
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

// measurement is an outcome with its CPU time.
type measurement struct {
	*outcome
	cpu       []time.Duration // of each process of the target; nil if unreadable
	generator time.Duration
}

// measure drives the target and reads the CPU time of its processes before and after. If the first
// read fails, nothing is driven; if the second fails, the result has no CPU time.
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

// perSecond returns the rate of completed calls.
func (m *measurement) perSecond() float64 {
	return float64(m.completed()) / m.elapsed.Seconds()
}

// perCall returns the microseconds of d per completed call, 0 without calls.
func (m *measurement) perCall(d time.Duration) float64 {
	if m.completed() == 0 {
		return 0
	}
	return micros(d) / float64(m.completed())
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// procfs reads the CPU time of processes from a proc file system, proc(5). The kernel counts in
// ticks of usually 10 ms, so measure for at least a second.
type procfs struct {
	root string
	tick time.Duration
}

// openProcfs reads the length of a tick. It fails without the proc file system of Linux.
func openProcfs(root string) (*procfs, error) {
	auxv, err := os.ReadFile(filepath.Join(root, "self", "auxv"))
	if err != nil {
		return nil, fmt.Errorf("CPU per call (-pids) needs the proc file system of Linux: %w", err)
	}
	hz := clockTicks(auxv)
	if hz == 0 {
		return nil, fmt.Errorf("CPU per call (-pids): %s/self/auxv has no AT_CLKTCK, the number of ticks per second", root)
	}
	return &procfs{root: root, tick: time.Second / time.Duration(hz)}, nil
}

// clockTicks returns AT_CLKTCK, the ticks per second, from an auxiliary vector of pairs of native
// words, getauxval(3), or 0.
func clockTicks(auxv []byte) uint64 {
	const atClockTicks, word = 17, strconv.IntSize / 8
	for ; len(auxv) >= 2*word; auxv = auxv[2*word:] {
		if nativeWord(auxv) == atClockTicks {
			return nativeWord(auxv[word:])
		}
	}
	return 0
}

func nativeWord(b []byte) uint64 {
	if strconv.IntSize == 32 {
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// cpu returns the CPU time that the process has used so far, in user mode and in
// the kernel, all its threads together.
func (p *procfs) cpu(pid int) (time.Duration, error) {
	path := filepath.Join(p.root, strconv.Itoa(pid), "stat")
	stat, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("no process %d to read the CPU time of", pid)
	}
	if err != nil {
		return 0, err
	}
	ticks, err := statTicks(stat)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return time.Duration(ticks) * p.tick, nil
}

// statTicks adds fields 14 and 15 of a stat file, utime and stime. The second
// field is the command's name in parentheses and may itself contain spaces and
// parentheses, so the count starts behind the last one.
func statTicks(stat []byte) (uint64, error) {
	const utime, stime = 14 - 3, 15 - 3 // behind the name comes field 3
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= stime {
		return 0, fmt.Errorf("%d fields behind the name, want at least %d", len(fields), stime+1)
	}
	user, err := strconv.ParseUint(fields[utime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("utime: %w", err)
	}
	system, err := strconv.ParseUint(fields[stime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stime: %w", err)
	}
	return user + system, nil
}
