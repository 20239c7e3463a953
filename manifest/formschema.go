package manifest

// Schema is the JSON Schema (draft-07) of the form's [Values]: an object with a
// property per key, for clients that make a dialogue of a schema. A default that
// is secret is not in it.
func (f *Form) Schema() []byte {
	w := schemaWriter{text: []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{`)}
	for i := range f.Prompts {
		if i > 0 {
			w.raw(",")
		}
		w.string(f.Prompts[i].Key)
		w.raw(":")
		w.prompt(&f.Prompts[i])
	}
	w.raw("}")
	w.required(f.Prompts)
	w.raw("}")
	return w.text
}

// schemaWriter appends JSON.
type schemaWriter struct{ text []byte }

func (w *schemaWriter) raw(s string) { w.text = append(w.text, s...) }

func (w *schemaWriter) string(s string) { w.text = appendString(w.text, s) }

func (w *schemaWriter) member(key, value string) {
	w.raw(",")
	w.string(key)
	w.raw(":")
	w.string(value)
}

func (w *schemaWriter) prompt(p *Prompt) {
	w.raw("{")
	w.member0("title", p.Name)
	if p.Description != "" {
		w.member("description", p.Description)
	}
	if p.Repeated {
		w.raw(`,"type":"array","items":{`)
		w.kind(p)
		w.raw("}")
		if p.Required {
			w.raw(`,"minItems":1`)
		}
	} else {
		w.raw(",")
		w.kind(p)
	}
	if p.Default != nil && !p.Default.IsSecret() {
		w.preset(p)
	}
	if p.Placeholder != "" && !p.Secret {
		w.raw(`,"examples":[`)
		w.string(p.Placeholder)
		w.raw("]")
	}
	if p.Secret {
		w.raw(`,"writeOnly":true`)
	}
	w.raw("}")
}

// member0 is the first member of an object.
func (w *schemaWriter) member0(key, value string) {
	w.string(key)
	w.raw(":")
	w.string(value)
}

// kind is what one value may be. Numbers and booleans may also be given as the
// strings that they become.
func (w *schemaWriter) kind(p *Prompt) {
	switch {
	case len(p.Choices) > 0:
		w.raw(`"enum":[`)
		for i, c := range p.Choices {
			if i > 0 {
				w.raw(",")
			}
			w.string(c)
		}
		w.raw("]")
	case p.Format == "number":
		w.raw(`"type":["number","string"],"pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"`)
	case p.Format == "boolean":
		w.raw(`"enum":[true,false,"true","false"]`)
	case p.Required && !p.Repeated:
		w.raw(`"type":"string","minLength":1`)
	default:
		w.raw(`"type":"string"`)
	}
}

func (w *schemaWriter) preset(p *Prompt) {
	w.raw(`,"default":`)
	if p.Repeated {
		w.raw("[")
	}
	w.string(p.Default.Reveal())
	if p.Repeated {
		w.raw("]")
	}
}

// required are the prompts without a default.
func (w *schemaWriter) required(prompts []Prompt) {
	first := true
	for i := range prompts {
		if !prompts[i].Required || prompts[i].Default != nil {
			continue
		}
		if first {
			w.raw(`,"required":[`)
		} else {
			w.raw(",")
		}
		w.string(prompts[i].Key)
		first = false
	}
	if !first {
		w.raw("]")
	}
}
