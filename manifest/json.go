package manifest

import (
	"strconv"
	"unicode/utf8"
)

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (s Server) MarshalJSON() ([]byte, error) { return marshal(&s) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (s *Server) UnmarshalJSON(data []byte) error {
	*s = Server{}
	return unmarshal(data, s)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (i Icon) MarshalJSON() ([]byte, error) { return marshal(&i) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (i *Icon) UnmarshalJSON(data []byte) error {
	*i = Icon{}
	return unmarshal(data, i)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (r Repository) MarshalJSON() ([]byte, error) { return marshal(&r) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (r *Repository) UnmarshalJSON(data []byte) error {
	*r = Repository{}
	return unmarshal(data, r)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (p Package) MarshalJSON() ([]byte, error) { return marshal(&p) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (p *Package) UnmarshalJSON(data []byte) error {
	*p = Package{}
	return unmarshal(data, p)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (t Transport) MarshalJSON() ([]byte, error) { return marshal(&t) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (t *Transport) UnmarshalJSON(data []byte) error {
	*t = Transport{}
	return unmarshal(data, t)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (r Remote) MarshalJSON() ([]byte, error) { return marshal(&r) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (r *Remote) UnmarshalJSON(data []byte) error {
	*r = Remote{}
	return unmarshal(data, r)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (i Input) MarshalJSON() ([]byte, error) { return marshal(&i) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (i *Input) UnmarshalJSON(data []byte) error {
	*i = Input{}
	return unmarshal(data, i)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (k KeyValueInput) MarshalJSON() ([]byte, error) { return marshal(&k) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (k *KeyValueInput) UnmarshalJSON(data []byte) error {
	*k = KeyValueInput{}
	return unmarshal(data, k)
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (a Argument) MarshalJSON() ([]byte, error) { return marshal(&a) }

// UnmarshalJSON reads what MarshalJSON writes, and any other keys into Extra.
func (a *Argument) UnmarshalJSON(data []byte) error {
	*a = Argument{}
	return unmarshal(data, a)
}

// appendString appends a JSON string, escaping what RFC 8259 says must be.
func appendString(to []byte, s string) []byte {
	to = append(to, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			to = append(to, '\\', byte(c))
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c < ' ':
			to = append(to, `\u00`...)
			if c < 0x10 {
				to = append(to, '0')
			}
			to = strconv.AppendInt(to, int64(c), 16)
		default:
			to = utf8.AppendRune(to, c)
		}
	}
	return append(to, '"')
}
