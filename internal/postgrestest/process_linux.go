package postgrestest

import (
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attributes have a process end with this one, and run as a user that PostgreSQL accepts,
// to whom dir is given.
func attributes(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr
	}
	uid, gid := unprivileged(t)
	check(t, os.Chown(dir, uid, gid))
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr
}

// unprivileged is a user who is not root.
func unprivileged(t testing.TB) (uid, gid int) {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	check(t, err)
	uid, err = strconv.Atoi(u.Uid)
	check(t, err)
	gid, err = strconv.Atoi(u.Gid)
	check(t, err)
	return uid, gid
}

// Freeze stops all processes of the server without ending them, and returns when they have
// stopped. Connections stay, and nothing is answered until Thaw.
func (s *Server) Freeze() {
	s.t.Helper()
	s.Process.Freeze() // so that there are no new ones
	for _, pid := range s.children() {
		if syscall.Kill(pid, syscall.SIGSTOP) == nil {
			s.frozen = append(s.frozen, pid)
		}
	}
	for _, pid := range s.frozen {
		s.awaitStop(pid)
	}
}

// Thaw has a frozen server go on.
func (s *Server) Thaw() {
	for _, pid := range s.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	s.frozen = nil
	s.Process.Thaw()
}

// awaitStop returns when a process has stopped, or is gone.
func (s *Server) awaitStop(pid int) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		switch state, _ := status(filepath.Join("/proc", strconv.Itoa(pid))); state {
		case "T", "Z", "": // stopped, or ended while the first process can't see to it
			return
		}
	}
	s.t.Fatalf("postgrestest: process %d does not stop", pid)
}

// children are the processes that the first one has started.
func (s *Server) children() (pids []int) {
	s.t.Helper()
	file, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	check(s.t, err)
	first, _, _ := strings.Cut(string(file), "\n")
	all, err := filepath.Glob("/proc/[0-9]*")
	check(s.t, err)
	for _, dir := range all {
		if _, parent := status(dir); parent == first {
			pid, err := strconv.Atoi(filepath.Base(dir))
			check(s.t, err)
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		s.t.Fatalf("postgrestest: process %s has no others to freeze", first)
	}
	return pids
}

// status is what a process does and the id of its parent; both are empty if it is gone.
// They are behind its name, which may contain anything.
func status(dir string) (state, parent string) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return "", ""
	}
	return fields[0], fields[1]
}
