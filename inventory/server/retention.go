package server

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// AutoRetention in place of a duration keeps a year of the audit log and 30 days of metrics, in a database whose first
// administrator was created with it. Other databases keep everything.
const AutoRetention = time.Nanosecond

const (
	autoAudit   = 365 * 24 * time.Hour
	autoMetrics = 30 * 24 * time.Hour
	autoRecord  = "retention defaults" // the name of the secret of a database to which AutoRetention applies
)

// retention is a duration, or auto for AutoRetention.
func retention(p *time.Duration) settings.Value {
	given := settings.Duration(p, settings.From(0, maxRetention))
	return settings.Func(func(text string) error {
		if text == "auto" {
			*p = AutoRetention
			return nil
		}
		return given.Parse(text)
	})
}

// markNew notes in the transaction of the first administrator that AutoRetention applies, unless there are records.
func markNew(ctx context.Context, engine *records.Engine) (*records.Engine, error) {
	entry, err := records.First[records.AuditLog](ctx, records.Fresh(engine.Store()))
	if err != nil || entry != nil {
		return engine, err
	}
	return engine.BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		return engine.Insert(ctx, tx, &inventory.Secret{Name: autoRecord, Value: "1"})
	}), nil
}

// setRetention replaces AutoRetention, and logs what it deletes.
func (s *Server) setRetention(ctx context.Context) error {
	s.auditRetention, s.metricsRetention = s.settings.AuditRetention, s.settings.MetricsRetention
	if s.auditRetention != AutoRetention && s.metricsRetention != AutoRetention {
		return nil
	}
	mark, err := records.First[inventory.Secret](ctx, records.Fresh(s.store), "name", autoRecord)
	if err != nil {
		return err
	}
	audit, metrics := autoAudit, autoMetrics
	if mark == nil {
		audit, metrics = 0, 0
	}
	if s.auditRetention == AutoRetention {
		s.auditRetention = audit
	}
	if s.metricsRetention == AutoRetention {
		s.metricsRetention = metrics
	}
	if mark != nil {
		s.log.InfoContext(ctx, "old records are deleted, unless AUDIT_RETENTION and METRICS_RETENTION are 0", "audit_log", s.auditRetention, "metrics", s.metricsRetention)
	}
	return nil
}
