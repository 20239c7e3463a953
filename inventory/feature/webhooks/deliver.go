package webhooks

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	pollTime  = 200 * time.Millisecond
	batchSize = 100            // messages that are sent before the position is stored
	batchTime = time.Second    // after which it is stored; much shorter than takeAfter
	keepLog   = 100            // deliveries of a rule that are sent or failed
	maxParked = 1000           // of a rule; more wait in the change feed
	patience  = 24 * time.Hour // of failures, until messages are parked
	metric    = "webhook_messages_total"
	leaseJob  = "webhooks"      // the name of the job whose owner delivers
	renew     = 2 * time.Second // of the lease
	takeAfter = 10 * time.Second
)

// retry is the pause after failures of one rule.
var retry = backoff.Backoff{Initial: 5 * time.Second, Max: time.Hour, Factor: 3, Jitter: 0.1}

// sender delivers the messages of all rules, as long as it has the lease. One goroutine uses it; the batches of rules read it.
type sender struct {
	*feature.Background
	store  records.Store
	fresh  records.Reader
	client *http.Client
	key    cipher.AEAD
	id     string

	renewed time.Time       // when it renewed the lease last
	version int64           // of the lease of another process, and since when it has that
	since   time.Time       // by the clock of this process
	busy    map[string]bool // rules with a batch in progress
	done    chan string     // rules whose batch has ended
}

// deliverAll delivers messages until ctx ends.
func deliverAll(ctx context.Context, b *feature.Background) error {
	s := &sender{
		Background: b, store: b.Engine.Store(), fresh: records.Fresh(b.Engine.Store()), client: newClient(b.PrivateTargets), id: rand.Text(),
		busy: map[string]bool{}, done: make(chan string, 2*maxRules),
	}
	defer s.client.CloseIdleConnections()
	if _, ok := s.fresh.(records.AuditChain); !ok {
		return nil // there is no change feed
	}
	if b.Count == nil {
		b.Count = func(string, ...string) {}
	}
	var batches sync.WaitGroup
	for failing := false; ctx.Err() == nil; {
		rules, err := records.Select[Webhook](ctx, s.fresh, &records.Query{})
		if err == nil && len(rules) > 0 {
			err = s.round(ctx, rules, &batches)
		}
		if err != nil && ctx.Err() == nil && !failing {
			b.Log.Warn("webhooks are not delivered, which is tried again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(pollTime):
		case id := <-s.done: // there may be more to send
			delete(s.busy, id)
		}
	}
	batches.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renew)
	defer cancel()
	if !s.renewed.IsZero() {
		_, _ = s.lead(ctx, "") // otherwise another process takes over later
	}
	return nil
}

// lead renews the lease, or takes over one that nobody has renewed meanwhile, and reports whether this process delivers. An
// empty owner gives the lease away.
func (s *sender) lead(ctx context.Context, owner string) (bool, error) {
	now := time.Now()
	if owner != "" && now.Sub(s.renewed) < renew {
		return true, nil
	}
	job, err := records.First[inventory.Job](ctx, s.fresh, "name", leaseJob)
	if err != nil {
		return false, err
	}
	if job == nil {
		job = &inventory.Job{Name: leaseJob}
	}
	if job.Owner != s.id && job.Owner != "" {
		if job.Version != s.version {
			s.version, s.since = job.Version, now
		}
		if owner == "" || now.Sub(s.since) < takeAfter {
			return false, nil
		}
	}
	job.Owner = owner
	err = s.store.Change(ctx, func(tx records.Tx) error { return s.save(ctx, tx, job) })
	if kind := records.KindOf(err); err != nil || owner == "" {
		if kind == records.Conflict || kind == records.Stale {
			err = nil // another process was first
		}
		return false, err
	}
	s.renewed = now
	return true, nil
}

// save stores a record, new or changed. It fails if another process has changed it.
func (s *sender) save(ctx context.Context, tx records.Tx, rec records.Record) error {
	next := records.Clone(rec)
	if next.Meta().Version == 0 {
		return s.Engine.Insert(ctx, tx, next)
	}
	next.Meta().Version++
	next.Meta().UpdatedAt = s.now()
	return tx.Update(ctx, next, rec.Meta().Version)
}

// now is the time of records.
func (s *sender) now() time.Time { return s.Engine.Now().UTC().Truncate(time.Microsecond) }

// round begins a batch of each rule that has something to send, unless one is in progress, if this process delivers.
func (s *sender) round(ctx context.Context, rules []*Webhook, batches *sync.WaitGroup) error {
	leads, err := s.lead(ctx, s.id)
	if err != nil || !leads {
		return err
	}
	if s.key == nil {
		if s.key, err = keyOf(ctx, s.Engine, s.Key); err != nil {
			return err
		}
	}
	states, err := records.Select[State](ctx, s.fresh, &records.Query{})
	if err != nil {
		return err
	}
	queued, err := records.Select[Delivery](ctx, s.fresh, &records.Query{Limit: batchSize}, "state", string(Queued))
	if err != nil {
		return err
	}
	head, err := s.fresh.(records.AuditChain).AuditHead(ctx)
	if err == nil { // as they are now: a message may be for a rule that has just been changed
		rules, err = records.Select[Webhook](ctx, s.fresh, &records.Query{})
	}
	if err != nil {
		return err
	}
	for _, w := range rules {
		d := &batch{sender: s, rule: w, state: &State{WebhookID: w.ID, Cursor: w.Start}}
		if i := slices.IndexFunc(states, func(state *State) bool { return state.WebhookID == w.ID }); i >= 0 {
			d.state = states[i]
		}
		for _, e := range queued {
			if e.WebhookID == w.ID {
				d.queued = append(d.queued, e)
			}
		}
		at, _ := strconv.ParseInt(d.state.Cursor[:min(16, len(d.state.Cursor))], 16, 64)
		waits := d.state.NextAttempt != nil && d.state.NextAttempt.After(s.now()) && d.state.Rule == w.Version
		d.due = !w.Paused && at < head.Seq && !waits
		if s.busy[w.ID] || !d.due && len(d.queued) == 0 {
			continue
		}
		s.busy[w.ID] = true
		batches.Go(func() { d.run(ctx) })
	}
	return nil
}

// batch is some messages of one rule.
type batch struct {
	*sender
	rule    *Webhook
	state   *State
	queued  []*Delivery
	due     bool            // whether changes are sent too
	visible records.Reader  // what the rule may send
	of      map[string]rule // by the kinds of resources
	log     []records.Record
}

// run sends the batch.
func (d *batch) run(ctx context.Context) {
	err := d.sendQueued(ctx)
	if err == nil && d.due {
		err = d.sendChanges(ctx)
	}
	switch kind := records.KindOf(err); {
	case err == nil, ctx.Err() != nil:
	case kind == records.Stale, kind == records.NotFound, kind == records.Conflict: // another process delivers, or the rule was deleted
	default:
		d.Log.Warn("a webhook is not delivered, which is tried again", "webhook", d.rule.Name, "error", err)
		_ = backoff.Sleep(ctx, renew)
	}
	d.done <- d.rule.ID
}

// sendQueued sends the messages that are queued.
func (d *batch) sendQueued(ctx context.Context) error {
	for _, e := range d.queued {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := d.attempt(e, []byte(e.Body))
		switch {
		case err == nil:
			e.State, e.Body = Sent, ""
		case e.Action == testAction:
			e.State, e.Body = Failed, ""
		default:
			e.State = Parked
		}
		ctx := context.WithoutCancel(ctx)
		if err := d.store.Change(ctx, func(tx records.Tx) error { return d.save(ctx, tx, e) }); err != nil {
			return err
		}
		d.Count(metric, d.rule.Name, string(e.State))
	}
	return nil
}

// sendChanges sends the next changes, up to the first that fails, and stores how far it came.
func (d *batch) sendChanges(ctx context.Context) error {
	from, err := feed.NewReader(d.store, d.rule.Resources...)
	if err == nil {
		err = from.Seek(ctx, d.state.Cursor)
	}
	if _, gone := errors.AsType[*feed.GoneError](err); gone {
		d.log = append(d.log, &Delivery{WebhookID: d.rule.ID, State: Failed, SentAt: new(d.now()), Error: "changes were deleted from the audit log before they were sent"})
		err = from.Seek(ctx, "0")
	}
	if err != nil {
		return err
	}
	d.state.Cursor = from.Cursor()
	if d.of, err = d.rule.parse(d.store.Schema()); err != nil {
		return err // a field was removed
	}
	var places *records.Places
	if len(d.rule.LocationIDs) > 0 {
		places = records.NewPlaces(d.rule.LocationIDs, "")
	}
	d.visible = records.Limited(d.fresh, places)
	found, _, err := from.Next(ctx, batchSize, places.Seen)
	if err != nil {
		return err
	}
	end := from.Cursor()
	for i, began := 0, time.Now(); i < len(found); i++ {
		ok, err := d.sendChange(ctx, &found[i])
		if err != nil && ctx.Err() == nil {
			return err
		}
		if ok {
			d.state.Cursor = found[i].Cursor
		}
		if !ok || ctx.Err() != nil || time.Since(began) > batchTime {
			end = d.state.Cursor
			break
		}
	}
	d.state.Cursor = end
	return d.finish(context.WithoutCancel(ctx))
}

// sendChange sends the message for a change, if the rule wants it. ok reports whether the change is done: sent, parked or of no
// interest.
func (d *batch) sendChange(ctx context.Context, c *feed.Change) (ok bool, err error) {
	w := d.rule
	if len(w.Actions) > 0 && !slices.Contains(w.Actions, c.Action) {
		return true, nil
	}
	masked := &records.AuditLog{ResourceType: c.ResourceType, Changes: c.Changes, Cause: c.Cause}
	if err := records.MaskChanges(ctx, d.visible, masked); err != nil {
		return false, err
	}
	c.Changes, c.Cause = masked.Changes, masked.Cause
	body, err := w.compose(ctx, d.visible, d.of, c)
	if err != nil || body == nil {
		return err == nil, err
	}
	e, state := newDelivery(w, c), d.state
	err = d.attempt(e, body)
	switch {
	case err == nil:
		state.Sent++
		state.Failures, state.FailingSince, state.NextAttempt, e.State = 0, nil, nil, Sent
	case state.FailingSince != nil && e.SentAt.Sub(*state.FailingSince) >= patience:
		n, err := records.Count(context.WithoutCancel(ctx), d.fresh, &records.Query{Resource: records.Of[Delivery](d.store.Schema())}, "webhook_id", w.ID, "state", string(Parked))
		if err != nil {
			return false, err
		}
		if n+int64(len(d.log)) < maxParked {
			state.Parked++
			e.State, e.Body = Parked, string(body)
			break
		}
		fallthrough
	default:
		if e.State = Failed; state.FailingSince == nil {
			state.FailingSince = e.SentAt
		}
		state.NextAttempt, state.Rule = new(e.SentAt.Add(retry.Wait(int(state.Failures)))), w.Version
		state.Failures++
	}
	d.log = append(d.log, e)
	d.Count(metric, w.Name, string(e.State))
	return e.State != Failed, nil
}

// attempt sends a message, also while the process ends, and notes the result.
func (d *batch) attempt(e *Delivery, body []byte) error {
	began := time.Now()
	e.SentAt, e.Status, e.Error = new(d.now()), nil, ""
	secret, err := open(d.key, d.rule)
	if err == nil {
		e.Status, err = send(d.client, d.rule, secret, e.MessageID, body)
	}
	if err != nil {
		e.Error = printable.Truncate(err.Error(), 500)
	}
	e.Duration = time.Since(began).Seconds()
	return err
}

// finish stores how far the batch came, with its log, of which it deletes the oldest entries.
func (d *batch) finish(ctx context.Context) error {
	logged := records.Of[Delivery](d.store.Schema())
	return d.store.Change(ctx, func(tx records.Tx) error {
		err := d.save(ctx, tx, d.state)
		if err != nil || len(d.log) == 0 {
			return err
		}
		for _, rec := range d.log {
			if err := d.Engine.Init(rec); err != nil {
				return err
			}
		}
		if err := tx.Create(ctx, d.log...); err != nil {
			return err
		}
		q := &records.Query{Resource: logged, Offset: keepLog, Sort: []records.SortKey{{Field: logged.KeyField("id"), Desc: true}}}
		old, err := records.Select[Delivery](ctx, tx, q.WhereIn("state", []string{string(Sent), string(Failed)}), "webhook_id", d.rule.ID)
		for _, e := range old {
			err = errors.Join(err, tx.Delete(ctx, logged, e.ID, e.Version, func(*records.Effect) error { return nil }))
		}
		return err
	})
}
