//go:build !unix

package circuit

import "net"

// isStale cannot be determined here without reading.
func isStale(net.Conn) bool { return false }
