package replay

// ReadJSON returns a member of a line as the replay reads it.
func ReadJSON(line, field string) (string, error) {
	values := make([]string, 1)
	err := newLineReader(JSON, &fields{names: []string{field}}).read(line, values)
	return values[0], err
}
