// Package jsonpos reads JSON (RFC 8259) into a tree of values with their byte
// offsets, and reports what JSON readers treat differently: duplicate keys, invalid
// UTF-8, unpaired surrogates, a byte order mark and data after the end.
//
//	doc := jsonpos.Parse(data, &jsonpos.Limits{Depth: 64})
//	for _, p := range doc.Problems {
//		line, column := jsonpos.Position(doc.Text, p.Offset)
//		fmt.Printf("%d:%d: %s: %s\n", line, column, p.Pointer, p.Message)
//	}
//	if name := doc.Root.Get("name"); name != nil {
//		fmt.Println(name.Text)
//	}
//
// A syntax error and an exceeded limit end the reading; the document then has no tree.
// After all other problems reading goes on. Time and memory are linear in the size of
// the text.
//
// # Design notes
//
// The reader is our own, because json.Decoder.Token with InputOffset is neither exact
// nor fast enough. Offsets of valid documents agree, which FuzzParse checks. But Token
// replaces invalid UTF-8 and unpaired surrogates by U+FFFD without an error and without
// a position, and its syntax errors have no position of an unterminated string or a
// trailing comma. Over the 2.3 KiB of BenchmarkParse, a reader on top of Token that
// builds the same tree without any of the checks takes about 5 times as long (280
// against 52 microseconds, 1,429 against 131 allocations; BenchmarkDecoderTokens).
//
// Strings without escapes share the memory of the text. Positions are kept as offsets;
// lines are counted only for the problems that are shown.
//
// Of two members with the same key the last one counts, as for most readers; the other
// one stays in the tree as Shadowed.
package jsonpos
