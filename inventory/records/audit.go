package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// AuditLog is the entry for a change of a record or for an event of an account, such as a
// login. It is written in the transaction of the change and never changes.
type AuditLog struct {
	Base
	UserID       *string `json:"user_id" field:"readonly,max=100,counted"`              // at the time of the change: the user may have been deleted since
	Actor        string  `json:"actor" field:"readonly,max=100,search,counted,scanned"` // the user name of that time
	Action       string  `json:"action" field:"readonly,max=50,counted,scanned"`        // such as create, update, delete or login
	ResourceType string  `json:"resource_type" field:"readonly,max=50,counted,scanned"` // such as device
	ResourceID   string  `json:"resource_id" field:"readonly,max=100,index"`
	IPAddress    string  `json:"ip_address" field:"readonly,max=64,scanned"`
	RequestID    string  `json:"request_id" field:"readonly,max=128,index"`
	Changes      Changes `json:"changes" field:"readonly"`
	// Cause is the record whose deletion changed or deleted this one, as in
	// "location/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f". Empty for a change that was requested.
	Cause string `json:"cause" field:"readonly,max=150"`
	// Places are the ids of the places that the record belonged to, separated by spaces: before the
	// change, and after a > those after it if they differ ([Places.Seen]). The digest has no part
	// of it.
	Places string `json:"-" field:"hidden,column=places,max=1000"`
}

// Changes are the changed fields of a record by their JSON names, without secrets.
type Changes map[string]Change

// Change is a field before and after a change: a value of a [Field], a list of strings, or
// nil.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

func (c Changes) clone() Changes { return maps.Clone(c) }

// builtIn returns the resources of every schema.
func builtIn() []Part {
	return []Part{
		Define[AuditLog](Definition{
			Name: auditLogs, Label: "Audit log", Description: "Who changed what.", Unaudited: true, Prunable: true, Order: []string{"id:desc"}, Routes: RoutesRead,
			Show:   Show{"Administration", 620, true, "history", []string{"created_at", "actor", "action", "resource_type", "resource_id", "ip_address", "cause"}},
			Access: Access{Read: Permission{Roles: []string{"admin"}}},
		}),
		Define[IdempotencyRecord](Definition{Name: "receipts", Label: "Idempotency record", Internal: true, Unaudited: true}),
	}
}

// auditLogs is the name of the audit log.
const auditLogs = "audit-logs"

// Diff returns the fields that differ between two records of the resource, except hidden and
// secret fields and those of [Base]. A nil record has no values: the state before a record
// is created and after it is deleted.
func (r *Resource) Diff(before, after Record) Changes {
	changes := Changes{}
	for _, f := range r.fields {
		if f.Hidden || f.WriteOnly || len(f.index) > 1 { // a field of Base
			continue
		}
		old, now := f.valueOrNil(before), f.valueOrNil(after)
		if !f.same(old, now) {
			changes[f.Name] = Change{old, now}
		}
	}
	return changes
}

// IdempotencyRecord is the stored response to a request with an Idempotency-Key, which
// repeated requests get again. It is not visible to clients.
type IdempotencyRecord struct {
	Base
	Owner    string `json:"owner" field:"required,max=200"` // who sent the request
	Key      string `json:"key" field:"required,unique=owner,max=255"`
	Request  string `json:"request" field:"required,max=100"` // a hash, to detect another request with the same key
	Status   int64  `json:"status"`
	Location string `json:"location" field:"max=500"`
	Body     string `json:"body" field:"format=text"`
}

// AuditChain is implemented by a [Store] that keeps the entries of the audit log in the order
// in which they were committed, with hashes that show a later change. Every entry has a
// position from 1, without gaps, once its transaction is committed. Its hash is the SHA-256 of the
// hash before and of [AuditDigest].
type AuditChain interface {
	// AuditHead returns the last position.
	AuditHead(ctx context.Context) (AuditPosition, error)
	// AuditAfter returns up to limit entries after a position, in order.
	AuditAfter(ctx context.Context, seq int64, limit int) ([]ChainedEntry, error)
	// AuditAnchors returns the ends of the parts of the chain that were pruned, and of the part
	// from before the chain, in order.
	AuditAnchors(ctx context.Context) ([]AuditAnchor, error)
	// AuditUnchained returns the lowest id of an entry without a position, empty if each has
	// one. It may take as long as reading the whole log.
	AuditUnchained(ctx context.Context) (id string, err error)
}

// AuditPosition is a position in the audit log.
type AuditPosition struct {
	Seq  int64  // 0 is before the first entry
	Hash []byte // empty for an entry from before the chain
}

// ChainedEntry is an entry of the audit log with its position.
type ChainedEntry struct {
	AuditPosition
	Entry  *AuditLog         // nil if it is missing
	Digest [sha256.Size]byte // of the entry as it is stored now
	Former [sha256.Size]byte // the same without the user id, which earlier programs left out
}

// AuditAnchor is a position up to which the audit log has been pruned. The transaction that adds it
// adds an entry with the action prune that signs it: one with the same actor and time, and with seq,
// hash and pruned among its changes. There may still be entries up to the anchor, while they are
// being deleted. An anchor that prunes nothing is the end of the part from before the chain.
type AuditAnchor struct {
	AuditPosition
	Pruned int64 // the number of positions after the anchor before
	Actor  string
	At     time.Time
}

// PruneAction is the action of the audit log entry for an [AuditAnchor].
const PruneAction = "prune"

// AuditDigest returns the SHA-256 of what an entry of the audit log says: of a JSON array of
// strings with the id, the time to the microsecond, actor, action, resource type and id, address,
// request id, changes, cause and user id, which is empty if there is none. The changes are the
// JSON text that is stored. Programs that emptied the user id when the user was deleted left it
// out, which the second digest does too.
func AuditDigest(a *AuditLog, changes string) (digest, former [sha256.Size]byte) {
	all := []string{
		a.ID, a.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000Z"), a.Actor, a.Action, a.ResourceType, a.ResourceID,
		a.IPAddress, a.RequestID, changes, a.Cause, "",
	}
	user := len(all) - 1
	if a.UserID != nil {
		all[user] = *a.UserID
	}
	doc, _ := json.Marshal(all) // strings always encode
	earlier, _ := json.Marshal(all[:user])
	return sha256.Sum256(doc), sha256.Sum256(earlier)
}

// Next returns the position after another one, for the digest of its entry.
func (p AuditPosition) Next(digest [sha256.Size]byte) AuditPosition {
	sum := sha256.New()
	sum.Write(p.Hash)
	sum.Write(digest[:])
	return AuditPosition{p.Seq + 1, sum.Sum(nil)}
}

// AuditDefect describes a defect that [VerifyAudit] finds: an entry of the chain that was changed or is missing, or an
// entry beside the chain.
type AuditDefect struct {
	Seq    int64  // the position, 0 for an entry without one
	ID     string // of the entry, empty if it is unknown
	Reason string
}

// Error returns the position, the id and the reason, as far as they are known.
func (d *AuditDefect) Error() string {
	switch {
	case d.Seq == 0:
		return fmt.Sprintf("audit log, entry %s: %s", d.ID, d.Reason)
	case d.ID == "":
		return fmt.Sprintf("audit log, position %d: %s", d.Seq, d.Reason)
	}
	return fmt.Sprintf("audit log, position %d, entry %s: %s", d.Seq, d.ID, d.Reason)
}

// AuditReport is the result of [VerifyAudit].
type AuditReport struct {
	Checked  int64         // entries whose hashes are right
	Unhashed int64         // entries from before the chain, which have no hashes
	Pruned   int64         // the position up to which entries were pruned, 0 if none was
	Head     AuditPosition // the last entry that was checked
}

// verifySize is the number of entries that VerifyAudit holds at a time.
const verifySize = 500

// VerifyAudit checks the hashes of the audit log of a store up to the end that it has when the
// call begins. The first error that is an [*AuditDefect] ends it; any other error is a failure of
// the store, or says that the store is no [AuditChain].
//
// Keep Head.Hash elsewhere to prove later that no entry up to there was changed: who can write to
// the database can also write another chain.
func VerifyAudit(ctx context.Context, store Store, opts *VerifyOptions) (*AuditReport, error) {
	chain, ok := Fresh(store).(AuditChain)
	if !ok {
		return nil, errors.New("the store keeps no chain of its audit log")
	}
	v := &verification{chain: chain}
	if err := v.anchor(ctx); err != nil {
		return nil, err
	}
	for v.at.Seq < v.head.Seq {
		page, err := chain.AuditAfter(ctx, v.at.Seq, verifySize)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, &AuditDefect{v.at.Seq + 1, "", fmt.Sprintf("the end is missing: the last position is %d", v.head.Seq)}
		}
		if opts != nil && opts.Progress != nil {
			opts.Progress(v.at.Seq, v.head.Seq)
		}
		for i := range page {
			if v.at.Seq >= v.head.Seq {
				break // later than the call
			}
			if err := v.check(ctx, &page[i]); err != nil {
				return nil, err
			}
		}
	}
	if !bytes.Equal(v.at.Hash, v.head.Hash) {
		return nil, &AuditDefect{v.head.Seq, "", "the hash differs from that of the end, which is stored separately"}
	}
	if v.unsigned != nil {
		return nil, &AuditDefect{v.unsigned.Seq, "", "an anchor is here, and no entry of the log signs it: entries up to here are missing, or the anchor was changed"}
	}
	id, err := chain.AuditUnchained(ctx)
	switch {
	case err != nil:
		return nil, err
	case id != "":
		return nil, &AuditDefect{0, id, "the entry has no position in the chain: it was not added by a program that keeps the chain"}
	}
	v.report.Head = v.at
	return &v.report, nil
}

// VerifyOptions are the optional settings of [VerifyAudit].
type VerifyOptions struct {
	// Progress, if not nil, is called now and then with the position that was reached and the last one.
	Progress func(done, total int64)
}

// verification is the state of VerifyAudit.
type verification struct {
	chain    AuditChain
	head, at AuditPosition
	start    int64        // up to where entries have no hashes
	unsigned *AuditAnchor // of the last pruning, until its entry is found
	report   AuditReport
}

// anchor continues after the last pruning, and reads the end of the log after it, which is then
// not before the entry that signs it.
func (v *verification) anchor(ctx context.Context) error {
	anchors, err := v.chain.AuditAnchors(ctx)
	if err != nil {
		return err
	}
	if v.head, err = v.chain.AuditHead(ctx); err != nil {
		return err
	}
	pruned := int64(0)
	for _, a := range anchors { // the last ones are at the end
		if len(a.Hash) == 0 {
			v.start = max(v.start, a.Seq)
		}
		if a.Pruned == 0 {
			continue
		}
		if pruned > 0 {
			return &AuditDefect{pruned, "", "an anchor is here, and another one behind it: a pruning leaves one"}
		}
		pruned = a.Seq
		if a.Seq >= v.at.Seq {
			v.at, v.report.Pruned, v.unsigned = a.AuditPosition, a.Seq, &a
		}
	}
	return nil
}

// check checks the next entry.
func (v *verification) check(ctx context.Context, e *ChainedEntry) error {
	if e.Seq > v.at.Seq+1 {
		if err := v.anchor(ctx); err != nil { // it may have been pruned in the meantime
			return err
		}
	}
	switch {
	case e.Seq <= v.at.Seq:
		return nil
	case e.Seq != v.at.Seq+1:
		return &AuditDefect{v.at.Seq + 1, "", fmt.Sprintf("missing: the next position is %d", e.Seq)}
	}
	id := ""
	if e.Entry != nil {
		id = e.Entry.ID
	}
	next := v.at.Next(e.Digest)
	if former := v.at.Next(e.Former); bytes.Equal(former.Hash, e.Hash) {
		next = former
	}
	switch {
	case e.Entry == nil:
		return &AuditDefect{e.Seq, "", "the entry is missing"}
	case e.Seq <= v.start && len(e.Hash) == 0:
		v.at = AuditPosition{Seq: e.Seq}
		v.report.Unhashed++
		return nil
	case !bytes.Equal(next.Hash, e.Hash):
		return &AuditDefect{e.Seq, id, "the entry, or its hash, was changed"}
	}
	v.at = next
	v.report.Checked++
	if a := v.unsigned; a != nil && e.Entry.Action == PruneAction && e.Entry.signs(a) {
		v.unsigned = nil
	}
	return nil
}

// signs reports whether the entry is that of an anchor.
func (a *AuditLog) signs(anchor *AuditAnchor) bool {
	for name, c := range signAnchor(anchor) {
		after := a.Changes[name].After
		if n, ok := after.(float64); ok { // of JSON
			after = int64(n)
		}
		if fmt.Sprint(after) != fmt.Sprint(c.After) {
			return false
		}
	}
	return a.Actor == anchor.Actor && a.CreatedAt.Equal(anchor.At)
}

// signAnchor returns the changes of the entry for an anchor.
func signAnchor(a *AuditAnchor) Changes {
	return Changes{
		"seq": {nil, fmt.Sprint(a.Seq)}, "hash": {nil, fmt.Sprintf("%x", a.Hash)}, "pruned": {nil, a.Pruned},
	}
}
