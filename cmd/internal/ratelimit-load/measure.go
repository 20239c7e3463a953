package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// measure drives the target and reads the CPU time of its processes before and after.
func (l *load) measure(ctx context.Context, t *target, d time.Duration) (*outcome, error) {
	before, err := cpuOf(t.pids)
	if err != nil {
		return nil, err
	}
	o := l.drive(ctx, t, d)
	after, err := cpuOf(t.pids)
	o.cpu = after - before
	return o, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// cpuOf returns the CPU time that processes have used, together.
func cpuOf(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		d, err := cpu(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// cpuUnit is the unit of CPU times in the proc file system of Linux, proc(5): USER_HZ is 100.
const cpuUnit = 10 * time.Millisecond

// cpu returns the CPU time that a process has used, in user mode and in the kernel, all its
// threads together. It needs the proc file system of Linux.
func cpu(pid int) (time.Duration, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	stat, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("no process %d to read the CPU time of in /proc", pid)
	}
	if err != nil {
		return 0, err
	}
	units, err := statUnits(stat)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return time.Duration(units) * cpuUnit, nil
}

// statUnits adds fields 14 and 15 of a stat file, utime and stime. The second
// field is the command's name in parentheses and may itself contain spaces and
// parentheses, so the count starts after the last one.
func statUnits(stat []byte) (uint64, error) {
	const utime, stime = 14 - 3, 15 - 3 // field 3 follows the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= stime {
		return 0, fmt.Errorf("%d fields after the name, want at least %d", len(fields), stime+1)
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
