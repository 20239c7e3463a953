package jsonpos

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of JSON values (RFC 8259, section 3). The zero Kind is Null.
const (
	Null Kind = iota
	Boolean
	Number
	String
	Array
	Object
)

// String returns the kind with its article, as used in messages: "null", "a boolean",
// "an object".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[min(k, Object)]
}

// Node is one value of a document. Nodes share memory with their document and must
// not be changed.
type Node struct {
	Kind Kind
	// Start is the byte offset of the value's first byte, End the offset after its last.
	Start, End int
	// Text is the decoded text of a string, the literal of a number, "true", "false" or
	// "null". It is empty for arrays and objects.
	Text     string
	Elements []Node   // of an array, else nil
	Members  []Member // of an object in the order of the document, else nil
}

// Member is one key of an object with its value.
type Member struct {
	Key string
	// KeyStart and KeyEnd are byte offsets, including the quotes.
	KeyStart, KeyEnd int
	// Shadowed reports that the same key follows later in the same object.
	Shadowed bool
	Value    Node
}

// Get returns the value of a key, compared exactly. It returns nil if n is nil or not an
// object or has no such key.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if m := &n.Members[i]; m.Key == key && !m.Shadowed {
			return &m.Value
		}
	}
	return nil
}

// Lookup returns the value at a JSON pointer (RFC 6901) below n, or nil.
func (n *Node) Lookup(pointer string) *Node {
	if pointer == "" {
		return n
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for token := range strings.SplitSeq(rest, "/") {
		if n == nil {
			return nil
		}
		if n.Kind != Array {
			n = n.Get(unescape.Replace(token))
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(n.Elements) || strconv.Itoa(i) != token {
			return nil
		}
		n = &n.Elements[i]
	}
	return n
}

// AppendValue appends v as JSON, without the escapes that encoding/json adds for HTML. It
// appends nothing if v cannot be encoded.
func AppendValue(to []byte, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // documented
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
