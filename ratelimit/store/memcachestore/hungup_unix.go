//go:build unix

package memcachestore

import "syscall"

// hungUp looks at what has come in on the socket, without waiting and without taking
// it. Nothing is as it should be, and so is data, which may be a message of TLS; the
// end is what we look for.
func hungUp(raw syscall.RawConn) bool {
	gone := false
	err := raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case nil:
			gone = n == 0
		case syscall.EAGAIN, syscall.EINTR:
		default:
			gone = true
		}
	})
	return gone || err != nil
}
