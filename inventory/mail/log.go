package mail

import (
	"context"
	"log/slog"
)

// LogOptions are the choices of a [Log]. Nil means the defaults.
type LogOptions struct {
	// Bodies logs the texts of mails too, which have codes in them that reset passwords:
	// for trying things out, and for nothing else.
	Bodies bool
}

// Log is the mailer where there is no server: it says in the log that a mail was not sent.
// It is safe for concurrent use.
type Log struct {
	log  *slog.Logger
	opts LogOptions
}

// NewLog makes a mailer over a log.
func NewLog(log *slog.Logger, opts *LogOptions) *Log {
	l := &Log{log: log}
	if opts != nil {
		l.opts = *opts
	}
	return l
}

// Send logs a warning. The error is that of [Message.Check].
func (l *Log) Send(ctx context.Context, m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	attrs := []slog.Attr{slog.String("to", m.To), slog.String("subject", m.Subject)}
	if l.opts.Bodies {
		attrs = append(attrs, slog.String("text", m.Text))
	}
	l.log.LogAttrs(ctx, slog.LevelWarn, "mail not sent: no mail server is set", attrs...)
	return nil
}
