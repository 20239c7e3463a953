//go:build !unix

package memcachestore

import "syscall"

// closedByPeer cannot be determined here without reading: an increment that is sent to a
// node after its restart may be lost.
func closedByPeer(syscall.RawConn) bool { return false }
