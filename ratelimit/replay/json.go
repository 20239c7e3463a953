package replay

import (
	"errors"
	"fmt"

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
