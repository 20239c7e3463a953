package server

import (
	"io"
	"log/slog"

	"github.com/ashlar-go/ashlar/internal/logformat"
)

// NewLog returns a logger with LOG_LEVEL and LOG_FORMAT that writes to w.
func NewLog(w io.Writer, s *Settings) *slog.Logger { return logformat.New(w, s.LogLevel, s.LogFormat) }
