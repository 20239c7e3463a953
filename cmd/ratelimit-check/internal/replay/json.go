package replay

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// maxNesting bounds the nesting of a line's objects and lists.
const maxNesting = 100

// jsonLine reads the values of lines that are objects of JSON. The last of duplicate members counts.
type jsonLine struct {
	// sources are the paths at which a value may be; the first with a value wins. The parts of a path are
	// separated by dots, which names may contain too.
	sources [][]string
	memory  jsonpos.Memory
}

var errNotObject = errors.New("not a JSON object")

func (j *jsonLine) read(line []byte, values []string) error {
	doc := jsonpos.Parse(line, &jsonpos.Limits{Depth: maxNesting, Memory: &j.memory})
	for _, p := range doc.Problems {
		if doc.Root == nil || p.Code == jsonpos.TrailingData {
			return fmt.Errorf("invalid JSON at byte %d: %s", p.Offset+1, p.Message)
		}
	}
	if doc.Root == nil || doc.Root.Kind != jsonpos.Object {
		return errNotObject
	}
	for slot, paths := range j.sources {
		for _, path := range paths {
			if values[slot] = textAt(doc.Root, path); values[slot] != "" {
				break
			}
		}
	}
	return nil
}

// maxNames bounds the names of memberNames.
const maxNames = 200

// memberNames returns the names that lead to the values of the first lines, in order.
func memberNames(text []byte) (all []string) {
	var add func(prefix string, n *jsonpos.Node)
	add = func(prefix string, n *jsonpos.Node) {
		if n == nil || len(all) == maxNames {
			return
		}
		if n.Kind != jsonpos.Object {
			if n.Text != "" && n.Kind != jsonpos.Null && prefix != "" && !slices.Contains(all, prefix) {
				all = append(all, prefix)
			}
			return
		}
		for i := range n.Members {
			m := &n.Members[i]
			add(strings.TrimPrefix(prefix+"."+m.Key, "."), &m.Value)
		}
	}
	read := 0
	for line := range bytes.Lines(text) {
		if read++; read > detectLines {
			break
		}
		add("", jsonpos.Parse(line, &jsonpos.Limits{Depth: maxNesting}).Root)
	}
	slices.Sort(all)
	return all
}

// textAt returns the text of a string, number or boolean, "" for anything else.
func textAt(object *jsonpos.Node, path string) string {
	if n := object.Get(path); n != nil && n.Kind != jsonpos.Null && n.Text != "" {
		return n.Text
	}
	for i := range len(path) {
		if path[i] == '.' {
			if n := object.Get(path[:i]); n != nil {
				if text := textAt(n, path[i+1:]); text != "" {
					return text
				}
			}
		}
	}
	return ""
}
