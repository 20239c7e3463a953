package cli

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Color is the value of a flag -color: auto, always or never. The zero Color is auto.
type Color string

// Define defines the flag.
func (c *Color) Define(f *pflag.FlagSet) {
	f.Func("color", "colors in text: auto, always or never; auto uses them on a terminal, unless NO_COLOR is set (default auto)", func(s string) error {
		if s != "auto" && s != "always" && s != "never" {
			return errors.New("use auto, always or never")
		}
		*c = Color(s)
		return nil
	})
}

// On reports whether text for the standard output has colors.
func (c Color) On(e Env) bool {
	plain := e.Environ["NO_COLOR"] != "" || e.Environ["TERM"] == "dumb"
	return c == "always" || c != "never" && !plain && isTerminal(e.Stdout)
}

// Paint returns text in colors, if on is true. The code is that of the terminal's escape sequence:
// 31 is red, 32 green, 33 yellow, 36 cyan and 1 bold.
func Paint(on bool, code, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
