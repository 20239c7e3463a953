package manifest

import (
	"strconv"
	"strings"
)

// Lookup returns the value at a JSON pointer (RFC 6901), or nil if there is none.
func (d *Document) Lookup(pointer string) *Node {
	n := d.root
	for n != nil && pointer != "" {
		rest, ok := strings.CutPrefix(pointer, "/")
		if !ok {
			return nil
		}
		var token string
		token, pointer = rest, ""
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			token, pointer = rest[:i], rest[i:]
		}
		n = n.child(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return n
}

// child is the value of a key or index, or nil.
func (n *Node) child(token string) *Node {
	if n.Kind == KindObject {
		return n.Get(token)
	}
	i, err := strconv.Atoi(token)
	if n.Kind != KindArray || err != nil || i < 0 || i >= len(n.Elements) || strconv.Itoa(i) != token {
		return nil
	}
	return &n.Elements[i]
}
