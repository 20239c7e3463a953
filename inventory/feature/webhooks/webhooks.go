// Package webhooks is the feature of webhooks: rules say which changes are sent to which URL, signed as Standard Webhooks
// (https://www.standardwebhooks.com) are. Each rule sends its changes in the order of their commits and at least once, and
// passes one on after a day of failures, which is kept to be sent again (REFERENCE.md, 2.20).
//
// One of the processes with a database delivers. All that a delivery needs is stored: a process that ends loses nothing.
//
// # Design notes
//
// Rules, their states and deliveries are resources, so lists, pages, filters, rights, the OpenAPI document and inventoryctl
// follow from their descriptions; a parked delivery is sent again by a change of its state.
//
// A rule belongs to the inventory and not to the user who has saved it, so that no delivery ends when an account does. Whoever
// saves one may list what it sends: the records of its resources, or the audit log for users, proposals and all resources.
//
// A lease has no clock in it: a process takes over what its owner has not renewed while the process looked on.
package webhooks

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxRules is the maximum number of rules: each may have a request in progress.
const maxRules = 50

// Webhook is a rule: which changes are sent where.
type Webhook struct {
	records.Base
	Name            string   `json:"name" field:"required,unique,max=100,search"`
	URL             string   `json:"url" field:"required,format=url,max=500,search"`
	Secret          string   `json:"secret,omitempty" field:"secret,oncreate,max=100"` // whsec_ and 24 to 64 bytes in base64
	Paused          bool     `json:"paused"`
	Resources       []string `json:"resources" field:"max=50"`                 // such as devices; none: all
	Actions         []string `json:"actions" field:"max=3"`                    // create, update, delete; none: all of the audit log
	Condition       string   `json:"condition" field:"max=1000"`               // filters of fields: after.status=offline&before.status__ne=offline
	LocationIDs     []string `json:"location_ids" field:"max=200,format=uuid"` // of records there only
	Template        string   `json:"template" field:"format=text,max=10000"`   // JSON; empty: the change as it is
	GitHubSignature bool     `json:"github_signature"`                         // X-Hub-Signature-256 too
	Sealed          string   `json:"-" field:"hidden,column=sealed,max=300"`   // the encrypted secret
	Start           string   `json:"-" field:"hidden,column=start_at,max=50"`  // the cursor at which it was created
}

// Complete reports whether the record has a secret (records.Completer).
func (w *Webhook) Complete() bool { return w.Sealed != "" }

// secretForm is that of Standard Webhooks: 24 to 64 bytes in base64.
var secretForm = regexp.MustCompile(`^whsec_([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`)

// Validate refuses what no schema would fit.
func (w *Webhook) Validate() (wrong []records.FieldError) {
	if w.Secret != "" && !secretForm.MatchString(w.Secret) {
		wrong = append(wrong, records.InField("secret", records.BadFormat("whsec_ and 24 to 64 random bytes in base64, as of: echo whsec_$(openssl rand -base64 32)")))
	}
	for _, a := range w.Actions {
		if known := []string{"create", "update", "delete"}; !slices.Contains(known, a) {
			wrong = append(wrong, records.InField("actions", records.NotOneOf(a, known...)))
		}
	}
	if w.Template != "" {
		if _, err := expand(w.Template, &feed.Change{}, func(_, _ string) any { return nil }); err != nil {
			wrong = append(wrong, records.InField("template", err))
		}
	}
	return wrong
}

// ValidateIn checks the rule against the schema and the locations, and bounds the number of rules (records.TxValidator).
func (w *Webhook) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	if _, err := w.parse(tx.Schema()); err != nil {
		return err
	}
	for _, id := range w.LocationIDs {
		if _, err := records.Get[inventory.Location](ctx, tx, id); records.KindOf(err) == records.NotFound {
			return records.Refuse("location_ids", records.NoRecord("locations", id))
		} else if err != nil {
			return err
		}
	}
	n, err := records.Count(ctx, tx, &records.Query{Resource: records.Of[Webhook](tx.Schema())})
	if err == nil && before == nil && n >= maxRules {
		err = &records.Error{Kind: records.Conflict, Message: "There are 50 webhooks, which is the maximum: delete one first"}
	}
	return err
}

// State is how far the delivery of a rule is.
type State struct {
	records.Base
	WebhookID    string     `json:"webhook_id" field:"readonly,unique,ref=webhooks:cascade"`
	Cursor       string     `json:"position" field:"readonly,max=50"` // of the change feed, after the last change that is done
	Sent         int64      `json:"sent" field:"readonly"`            // messages
	Parked       int64      `json:"parked" field:"readonly"`          // messages that were parked
	Failures     int64      `json:"failures" field:"readonly"`        // in a row
	FailingSince *time.Time `json:"failing_since" field:"readonly"`
	NextAttempt  *time.Time `json:"next_attempt" field:"readonly"` // after a failure
	Rule         int64      `json:"-" field:"hidden,column=rule"`  // the version of the rule that has failed
}

// Delivery is a message that was sent, or is to be sent again.
type Delivery struct {
	records.Base
	WebhookID    string        `json:"webhook_id" field:"readonly,ref=webhooks:cascade"`
	State        DeliveryState `json:"state" field:"required"`
	MessageID    string        `json:"message_id" field:"readonly,max=100"` // the header webhook-id
	Action       string        `json:"action" field:"readonly,max=50"`
	ResourceType string        `json:"resource_type" field:"readonly,max=50"`
	ResourceID   string        `json:"resource_id" field:"readonly,max=100"`
	SentAt       *time.Time    `json:"sent_at" field:"readonly"`
	Status       *int64        `json:"status" field:"readonly"` // of the response
	Error        string        `json:"error" field:"readonly,max=500"`
	Duration     float64       `json:"duration" field:"readonly"`         // seconds
	Body         string        `json:"body" field:"readonly,format=text"` // of a message that is parked or queued
}

// DeliveryState is the state of a [Delivery].
type DeliveryState string

// The states of deliveries.
const (
	Sent   DeliveryState = "sent"
	Failed DeliveryState = "failed" // and will be tried again, or was a test
	Parked DeliveryState = "parked" // given up after a day
	Queued DeliveryState = "queued" // will be sent at once: a test, or one that was parked
)

// Values returns all values.
func (DeliveryState) Values() []string {
	return []string{string(Sent), string(Failed), string(Parked), string(Queued)}
}

// New returns the feature.
func New() *feature.Feature {
	admins := records.Access{Read: records.Permission{Roles: []string{string(inventory.Admin)}}}
	return &feature.Feature{
		Needs: map[string]records.Record{"webhooks": &Webhook{}, "webhook-states": &State{}, "webhook-deliveries": &Delivery{}},
		Schema: []records.Part{
			records.Define[Webhook](records.Definition{
				Name: "webhooks", Label: "Webhook", Description: "Rules that send changes to other programs.", Access: admins,
				Show:     records.Show{Group: "Administration", Order: 612, Icon: "link", Columns: []string{"name", "url", "paused", "resources", "actions", "condition"}},
				Messages: map[string]string{"name": "Webhook with this name already exists"},
			}),
			records.Define[State](records.Definition{
				Name: "webhook-states", Label: "Webhook state", Description: "How far the delivery of webhooks is.", Access: admins, Unaudited: true, Routes: records.RoutesRead,
				Show: records.Show{Hidden: true, Columns: []string{"webhook_id", "sent", "parked", "failing_since", "next_attempt"}},
			}),
			records.Define[Delivery](records.Definition{
				Name: "webhook-deliveries", Label: "Webhook delivery", Description: "Messages of webhooks: the last ones, and those that are parked.", Access: admins, Unaudited: true,
				Routes: records.RoutesAll &^ (records.RouteCreate | records.RouteReplace), Order: []string{"id:desc"},
				Show: records.Show{Group: "Administration", Order: 614, Icon: "history", Columns: []string{"webhook_id", "state", "sent_at", "status", "error", "action", "resource_type"}},
			}),
			records.OnChange("webhook-deliveries", again),
		},
		Rules: []feature.Rules{{
			Resource: "webhooks", Secrets: []string{"secret"}, Check: func([]records.Patch) error { return nil }, New: created, Edit: edited,
			Delete: func(*feature.Request, records.Record) error { return nil },
			Action: func(_, _ records.Record) string { return "" },
			Done:   func(context.Context, *feature.Request, ...string) {},
		}},
		Operations: []feature.Operation{{
			Operation: openapi.Operation{
				Method: http.MethodPost, Path: "/webhooks/{id}/test", ID: "testWebhook", Tag: "webhooks", Summary: "Send a test message, also of a paused rule, and wait some seconds for its delivery",
				Errors: []int{http.StatusNotFound},
			},
			Describe: func(schema *records.Schema, op *openapi.Operation) {
				op.Responses = []openapi.Response{{Status: http.StatusOK, Schema: openapi.Record(records.Of[Delivery](schema)), Headers: []openapi.Header{openapi.ETag()}}}
			},
			Resource: "webhooks", Does: records.RouteChange, Handle: feature.WithID(test),
		}},
		Jobs:  []feature.Job{deliverAll},
		Pages: pages(),
	}
}

// again allows one change of a delivery: a parked one is queued.
func again(_ context.Context, _ records.Tx, before, after records.Record) error {
	if before == nil || after == nil || before.(*Delivery).State == Parked && after.(*Delivery).State == Queued {
		return nil
	}
	return records.Refuse("state", records.Wrong("not_allowed", "can only become queued, of a parked delivery, which sends it again"))
}

// created completes new rules: they begin with the changes from now on.
func created(ctx context.Context, r *feature.Request, _ records.Patch) (func(records.Record) error, error) {
	from, err := feed.NewReader(r.Inventory.Engine().Store())
	if err == nil {
		err = from.Seek(ctx, "")
	}
	if err != nil {
		return nil, err
	}
	finish, err := edited(ctx, r, "", nil)
	return func(rec records.Record) error {
		rec.(*Webhook).Start = from.Cursor()
		return finish(nil, rec)
	}, err
}

// edited encrypts the secret of a rule, and refuses senders who may not read what it sends.
func edited(ctx context.Context, r *feature.Request, _ string, _ records.Patch) (func(before, after records.Record) error, error) {
	key, err := keyOf(ctx, r.Inventory.Engine(), r.Inventory.Key())
	return func(_, after records.Record) error {
		w, schema := after.(*Webhook), r.Inventory.Records().Schema()
		names := w.Resources
		logged := func(name string) bool { of, ok := schema.Named(name); return name == "users" || ok && of.Internal }
		if len(names) == 0 || slices.ContainsFunc(names, logged) {
			names = append(slices.Clone(names), records.Of[records.AuditLog](schema).Name)
		}
		for _, name := range names {
			if of, ok := schema.Named(name); ok && !of.Internal { // others are refused later
				if err := r.Inventory.May(of, records.RouteList); err != nil {
					return err
				}
			}
		}
		if w.Secret == "" {
			return nil
		}
		if wrong := w.Validate(); len(wrong) > 0 {
			return records.InvalidFields("webhook", wrong)
		}
		w.Sealed, w.Secret = base64.StdEncoding.EncodeToString(key.Seal(nil, nil, []byte(w.Secret), nil)), "" // #nosec G407 -- with a random nonce
		return nil
	}, err
}

// keyRecord is the name of the secret with the key of a database whose server has none.
const keyRecord = "webhooks key"

// keyOf returns the cipher of secrets: with the key of the server, or one that is generated and stored in the database.
func keyOf(ctx context.Context, v *records.Engine, given []byte) (cipher.AEAD, error) {
	if len(given) == 0 {
		stored, err := records.First[inventory.Secret](ctx, records.Fresh(v.Store()), "name", keyRecord)
		if err == nil && stored == nil {
			stored = &inventory.Secret{Name: keyRecord, Value: rand.Text()}
			err = v.Store().Change(ctx, func(tx records.Tx) error { return v.Insert(ctx, tx, stored) })
		}
		if err != nil {
			return nil, err
		}
		given = []byte(stored.Value)
	}
	sum := sha256.Sum256(given)
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// open decrypts the secret of a rule.
func open(key cipher.AEAD, w *Webhook) (string, error) {
	sealed, err := base64.StdEncoding.DecodeString(w.Sealed)
	if err == nil {
		sealed, err = key.Open(nil, nil, sealed, nil)
	}
	if err != nil {
		return "", errors.New("the secret was encrypted with another key: restore WEBHOOKS_KEY, or set a new secret")
	}
	return string(sealed), nil
}

const (
	testAction = "test"
	testWait   = 12 * time.Second // longer than an attempt
)

// test queues a message and waits for what becomes of it.
func test(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	w, err := records.Get[Webhook](ctx, r.Inventory.Records(), id)
	if err != nil {
		return nil, err
	}
	v := r.Inventory.Engine()
	change := &feed.Change{Action: testAction, ResourceType: "webhook", ResourceID: id, Actor: r.Inventory.Sender().Name, CreatedAt: v.Now().UTC(), Changes: records.Changes{}}
	body, err := w.compose(ctx, nil, nil, change)
	if err != nil {
		return nil, err
	}
	d := newDelivery(w, change)
	d.State, d.MessageID, d.Body = Queued, testAction+"-"+rand.Text(), string(body)
	if err := v.Store().Change(ctx, func(tx records.Tx) error { return v.Insert(ctx, tx, d) }); err != nil {
		return nil, err
	}
	for began := time.Now(); d.State == Queued && time.Since(began) < testWait; {
		if err := backoff.Sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
		if d, err = records.Get[Delivery](ctx, records.Fresh(v.Store()), d.ID); err != nil {
			return nil, err
		}
	}
	return feature.OK(d), nil
}

// newDelivery returns the entry of the log for a change.
func newDelivery(w *Webhook, c *feed.Change) *Delivery {
	return &Delivery{WebhookID: w.ID, MessageID: c.Cursor + "-" + w.ID, Action: c.Action, ResourceType: c.ResourceType, ResourceID: c.ResourceID}
}
