//go:build !unix

package circuit

import "net"

// Stale cannot be determined here without reading.
func Stale(net.Conn) bool { return false }
