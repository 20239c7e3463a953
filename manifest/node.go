package manifest

// Kind is what a JSON value is.
type Kind uint8

// The kinds of JSON values (RFC 8259, section 3). The zero Kind is KindNull.
const (
	KindNull Kind = iota
	KindBoolean
	KindNumber
	KindString
	KindArray
	KindObject
)

// String names the kind as a message does: "null", "a boolean", "an object".
func (k Kind) String() string {
	switch k {
	case KindBoolean:
		return "a boolean"
	case KindNumber:
		return "a number"
	case KindString:
		return "a string"
	case KindArray:
		return "an array"
	case KindObject:
		return "an object"
	}
	return "null"
}

// Node is one value of a document and where it stands. Nodes share memory with
// their document: read them, don't change them.
type Node struct {
	Kind Kind
	// Start is the byte offset of the value's first byte, End that of the first
	// byte after it.
	Start, End int
	// Text is the decoded text of a string, the literal of a number, "true",
	// "false" or "null". It is empty for arrays and objects.
	Text     string
	Elements []Node   // of an array, else nil
	Members  []Member // of an object in the order of the document, else nil
}

// Member is one key of an object with its value.
type Member struct {
	Key string
	// KeyStart and KeyEnd are byte offsets, the quotes included.
	KeyStart, KeyEnd int
	// Shadowed says that the same key follows later in the same object. Such a
	// document is not valid; what Shadowed members hold is not looked at.
	Shadowed bool
	Value    Node
}

// Get returns the value of a key, or nil if the object has no such key or the
// node is no object. Keys are compared exactly, case included.
func (n *Node) Get(key string) *Node {
	for i := range n.Members {
		if m := &n.Members[i]; m.Key == key && !m.Shadowed {
			return &m.Value
		}
	}
	return nil
}
