package client

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// span is a range of bytes.
type span struct{ from, to int }

// addTOML adds a table key.name, or replaces it.
func (f *text) addTOML(key, name string, members []member) error {
	at, err := f.table(key, name)
	if err != nil {
		return err
	}
	block := fmt.Sprintf("[%s.%s]%s", key, name, f.newline) // a name is a bare key
	for _, m := range members {
		block += m.key + " = " + inline(m.value, " = ") + f.newline
	}
	if at.to > 0 {
		f.replace(at.from, at.to, block)
		return f.checkTOML()
	}
	f.endLine()
	if len(bytes.TrimSpace(f.data)) > 0 && !bytes.HasSuffix(bytes.ReplaceAll(f.data, []byte("\r"), nil), []byte("\n\n")) {
		block = f.newline + block
	}
	f.data = append(f.data, block...)
	return f.checkTOML()
}

// removeTOML removes a table key.name with the tables in it.
func (f *text) removeTOML(key, name string) error {
	at, err := f.table(key, name)
	if err != nil || at.to == 0 {
		return err
	}
	if at.to == len(f.data) && at.from > 0 { // with the empty line before
		before := f.lineStart(at.from - 1)
		if len(bytes.TrimSpace(f.data[before:at.from])) == 0 {
			at.from = before
		}
	}
	f.replace(at.from, at.to, "")
	return f.checkTOML()
}

// checkTOML reports a file that the change made invalid, for example because the same table is
// written in two ways.
func (f *text) checkTOML() error {
	if err := toml.Unmarshal(f.data, new(map[string]any)); err != nil {
		return errForm
	}
	return nil
}

// table returns the position of the table key.name with those in it, and {0, 0} if there is none.
func (f *text) table(key, name string) (span, error) {
	if err := toml.Unmarshal(f.data, new(map[string]any)); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			return span{}, fmt.Errorf("the file is not TOML: line %d, column %d: %w", line, column, err)
		}
		return span{}, fmt.Errorf("the file is not TOML: %w", err)
	}
	var p unstable.Parser
	p.Reset(f.data)
	var at span
	within, ended := false, false
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		path, start, end := keyPath(e)
		if e.Kind == unstable.KeyValue {
			if len(table) == 0 && path[0] == key || slices.Equal(table, []string{key}) {
				return span{}, errForm
			}
			if within {
				at.to = f.lineEnd(max(end, int(e.Raw.Offset+e.Raw.Length)) - 1)
			}
			continue
		}
		table = path
		own := len(path) >= 2 && path[0] == key && path[1] == name
		switch {
		case len(path) == 1 && path[0] == key && e.Kind == unstable.ArrayTable, own && e.Kind == unstable.ArrayTable && len(path) == 2, own && ended:
			return span{}, errForm
		case own:
			if !within {
				within, at.from = true, f.lineStart(start)
			}
			at.to = f.lineEnd(end)
		case within:
			within, ended = false, true
		}
	}
	return at, p.Error()
}

// keyPath returns the key of an expression with the range of its text.
func keyPath(e *unstable.Node) (path []string, start, end int) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if path == nil {
			start = int(n.Raw.Offset)
		}
		end = int(n.Raw.Offset + n.Raw.Length)
		path = append(path, string(n.Data))
	}
	return path, start, end
}
