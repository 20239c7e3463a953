package redisstore

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// The bounds of a reply. The largest that servers send are the slots of a cluster: some hundred bytes for each server.
const (
	maxReply      = 1 << 20 // bytes
	elementBytes  = 16      // that the library reserves for an element of an array
	maxReplyDepth = 16      // of arrays within each other
)

// boundedConn is a connection that fails when a reply is too large. The library reserves as much memory as the head of a reply asks
// for, and a peer that is no Redis can ask for any.
type boundedConn struct {
	net.Conn
	line []byte // the beginning of a line
	skip int    // bytes that are left of a string and its end
	left []int  // elements that are left of the arrays around, the innermost last
	size int    // of the reply until now, and of what its heads ask for
}

// Read implements net.Conn.
func (c *boundedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if wrong := c.follow(p[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// follow follows the replies, of which it needs the heads only.
func (c *boundedConn) follow(b []byte) error {
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			b = b[n:]
			if c.skip -= n; c.skip == 0 {
				c.ended()
			}
			continue
		}
		end := bytes.IndexByte(b, '\n')
		part := b[:end+1]
		if end < 0 {
			part = b
		}
		const head = 24 // of a line, with the longest number
		c.line = append(c.line, part[:min(len(part), head-min(len(c.line), head))]...)
		if c.size += len(part); c.size > maxReply {
			return errReply
		}
		if b = b[len(part):]; end < 0 {
			return nil
		}
		if err := c.read(string(bytes.TrimSpace(c.line))); err != nil {
			return err
		}
		c.line = c.line[:0]
	}
	return nil
}

// read reads the head of a string or of an array, or another line. The library understands those of RESP3 too, though they are not
// asked for.
func (c *boundedConn) read(line string) error {
	array := line != "" && strings.Contains("*~>%|", line[:1])
	if line == "" || !array && !strings.Contains("$=!", line[:1]) {
		c.ended()
		return nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n > maxReply || len(c.left) == maxReplyDepth {
		return errReply
	}
	if line[0] == '%' || line[0] == '|' { // pairs
		n *= 2
	}
	switch {
	case n < 0 || array && n == 0: // none
		c.ended()
		return nil
	case array:
		c.left = append(c.left, n)
		c.size += n * elementBytes
	default:
		c.skip = n + len("\r\n")
		c.size += n
	}
	if c.size > maxReply {
		return errReply
	}
	return nil
}

// ended notes that a reply has ended, or an element of arrays around it.
func (c *boundedConn) ended() {
	for i := len(c.left) - 1; i >= 0; i-- {
		if c.left[i]--; c.left[i] > 0 {
			return
		}
		c.left = c.left[:i]
	}
	c.size = 0
}

var errReply = fmt.Errorf("a reply has more than %d bytes, or is none of Redis: is the address that of a Redis server?", maxReply)
