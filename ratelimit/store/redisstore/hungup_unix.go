//go:build unix

package redisstore

import "syscall"

// hungUp looks at what has come in on the socket, without waiting and without
// taking it: nothing at all is as it should be, and the end is what we look for.
// Data is left to the reader; with TLS it may be a message of the protocol.
func hungUp(raw syscall.RawConn) bool {
	gone := false
	err := raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == nil:
			gone = n == 0
		case err != syscall.EAGAIN && err != syscall.EWOULDBLOCK && err != syscall.EINTR:
			gone = true
		}
	})
	return gone || err != nil
}
