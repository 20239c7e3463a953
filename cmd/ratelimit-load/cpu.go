package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A procfs reads the CPU time of processes from a proc file system, proc(5). The
// kernel counts it in ticks of usually 10 ms, so a stretch should last a second
// or more for the figure to mean something.
type procfs struct {
	root string
	tick time.Duration
}

// openProcfs reads the length of a tick. The error on a system that has no proc
// file system, or another one than Linux, says so.
func openProcfs(root string) (*procfs, error) {
	auxv, err := os.ReadFile(filepath.Join(root, "self", "auxv"))
	if err != nil {
		return nil, fmt.Errorf("CPU per call (-pids) needs the proc file system of Linux: %w", err)
	}
	hz := clockTicks(auxv)
	if hz == 0 {
		return nil, fmt.Errorf("CPU per call (-pids): %s/self/auxv has no AT_CLKTCK, which tells the ticks per second", root)
	}
	return &procfs{root: root, tick: time.Second / time.Duration(hz)}, nil
}

// clockTicks finds AT_CLKTCK, the ticks per second, in an auxiliary vector:
// pairs of native words, the first of which says what the second is, getauxval(3).
// It returns 0 if there is none.
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
