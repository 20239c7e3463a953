//go:build unix

package circuit

import (
	"net"
	"syscall"
)

// isStale reports whether the peer has closed a connection between commands, or has sent something that
// nobody asked for. It peeks at the socket without waiting. Connections without a socket are never
// stale.
func isStale(transport net.Conn) bool {
	socket, ok := transport.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	stale := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		stale = err != syscall.EAGAIN && err != syscall.EINTR
	})
	return stale || err != nil
}
