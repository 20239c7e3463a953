package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// parsePIDs reads process ids, joined by the separator.
func parsePIDs(list, separator string) ([]int, error) {
	var pids []int
	for id := range strings.SplitSeq(list, separator) {
		pid, err := strconv.Atoi(id)
		if err != nil || pid <= 0 {
			return nil, fmt.Errorf("%q is no process id; want a number from 1", id)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// parseTargets reads the value of -compare.
func parseTargets(list string) ([]*target, error) {
	var targets []*target
	names := make(map[string]bool)
	for text := range strings.SplitSeq(list, ",") {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		if names[t.name] {
			return nil, fmt.Errorf("two targets are named %q; want a name for each", t.name)
		}
		names[t.name] = true
		targets = append(targets, t)
	}
	if len(targets) < 2 {
		return nil, fmt.Errorf("only one target, %q; want two or more to compare", list)
	}
	return targets, nil
}

// parseTarget reads name=host:port or name=host:port:pid. What is before the last
// colon tells them apart: it is an address by itself, or it is only a host.
func parseTarget(text string) (*target, error) {
	name, addr, _ := strings.Cut(text, "=")
	t := &target{name: name, addr: addr}
	if i := strings.LastIndexByte(addr, ':'); i >= 0 && isAddress(addr[:i]) {
		var err error
		if t.pids, err = parsePIDs(addr[i+1:], "+"); err != nil {
			return nil, fmt.Errorf("target %q: %w", text, err)
		}
		t.addr = addr[:i]
	}
	if name == "" || !isAddress(t.addr) {
		return nil, fmt.Errorf("target %q: want name=host:port or name=host:port:pid", text)
	}
	return t, nil
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}
