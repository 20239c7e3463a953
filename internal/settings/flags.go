package settings

import "flag"

// Flags defines a flag for each setting that has one. Once the flags have been parsed,
// given returns those that were set, by name, for Read.
func Flags(flags *flag.FlagSet, rows []Setting) (given func() map[string]string) {
	values := map[string]*string{}
	for i := range rows {
		row := &rows[i]
		if row.Flag == "" {
			continue
		}
		doc := row.Doc
		if row.Name != "" {
			doc += "; " + row.Name
		}
		values[row.Flag] = flags.String(row.Flag, row.Default, doc)
	}
	return func() map[string]string {
		set := map[string]string{}
		flags.Visit(func(f *flag.Flag) {
			if value, ok := values[f.Name]; ok {
				set[f.Name] = *value
			}
		})
		return set
	}
}
