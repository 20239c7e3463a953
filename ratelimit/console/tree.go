package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// tree is the rules as pages show them.
type tree struct {
	domains []*domainTree
	byID    map[string]*node
	limits  int // rules with a limit
}

// domainTree is the rules of a domain, each before those below it.
type domainTree struct {
	Name   string
	Nodes  []*node
	Limits int // rules with a limit
}

// node is a rule.
type node struct {
	ID, Domain string
	Path       []ratelimit.Entry // keys and values from the top
	Rule       *ratelimit.Rule
	text       string // what a filter is compared with
}

// Depth is the number of rules above.
func (n *node) Depth() int { return len(n.Path) - 1 }

// Counted reports whether hits are counted by the rule.
func (n *node) Counted() bool { return n.Rule.Limit != nil && !n.Rule.Limit.Unlimited }

// Name is the rule as one text: domain, keys and values.
func (n *node) Name() string {
	text := n.Domain
	for _, e := range n.Path {
		text += " › " + e.Key
		if e.Value != "" {
			text += "=" + e.Value
		}
	}
	return text
}

// ruleID returns the id of a rule in addresses. It stays the same while others change.
func ruleID(domain string, path []ratelimit.Entry) string {
	text := fmt.Sprintf("%q", domain)
	for _, e := range path {
		text += fmt.Sprintf("%q%q", e.Key, e.Value)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// newTree returns the tree of domains, sorted by name. Domains of the same name are one.
func newTree(domains []ratelimit.Domain) *tree {
	t := &tree{byID: map[string]*node{}}
	named := map[string]*domainTree{}
	for i := range domains {
		d := named[domains[i].Name]
		if d == nil {
			d = &domainTree{Name: domains[i].Name}
			named[d.Name], t.domains = d, append(t.domains, d)
		}
		t.add(d, nil, domains[i].Rules)
	}
	slices.SortStableFunc(t.domains, func(a, b *domainTree) int { return strings.Compare(a.Name, b.Name) })
	return t
}

func (t *tree) add(d *domainTree, above []ratelimit.Entry, rules []ratelimit.Rule) {
	for i := range rules {
		r := &rules[i]
		path := append(slices.Clone(above), ratelimit.Entry{Key: r.Key, Value: r.Value})
		n := &node{ID: ruleID(d.Name, path), Domain: d.Name, Path: path, Rule: r}
		n.text = strings.ToLower(n.Name())
		if r.Limit != nil {
			d.Limits++
			t.limits++
			n.text += " " + strings.ToLower(r.Limit.Name)
		}
		t.byID[n.ID] = n
		d.Nodes = append(d.Nodes, n)
		t.add(d, path, r.Rules)
	}
}

// treeCache holds the tree of the active rules.
type treeCache struct {
	mu    sync.Mutex
	rules *ratelimit.Ruleset
	tree  *tree
}

// current returns the tree of the active rules.
func (c *Console) current() *tree {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	if rules := c.engine.Rules(); c.tree.tree == nil || c.tree.rules != rules {
		c.tree.rules, c.tree.tree = rules, newTree(rules.Source())
	}
	return c.tree.tree
}

// row is a rule in a list.
type row struct {
	*node
	rate
	HasRate bool
	Flat    bool // with the whole path, not below others
}

// list is some of the rules of a domain, or of all domains.
type list struct {
	Domain string
	Rows   []row
	Rules  int // in the domain
	Limits int
	// Offset is the number of rows before the first, and More of those that follow.
	Offset, More int
}

// selection says which rules are shown.
type selection struct {
	Query  string
	Domain string // empty for all
	Sort   string // a key of sorts
	Offset int
}

// sorts are the orders of rules: that of the configuration, or the highest rate first.
var sorts = map[string]func(point) float32{"": nil, "allowed": allowed, "near": near, "refused": refused}

// maxRows bounds the rules of a page.
const maxRows = 200

// maxQuery bounds the text of a filter, in bytes.
const maxQuery = 200

// flat returns the rules that match, in the chosen order, as one list.
func (t *tree) flat(s *selection, rates *rates) *list {
	words := strings.Fields(strings.ToLower(s.Query))
	var all []*node
	now := map[string]point{}
	for _, d := range t.domains {
		if s.Domain != "" && s.Domain != d.Name {
			continue
		}
		for _, n := range d.Nodes {
			missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(n.text, w) })
			if missing || s.Sort != "" && !n.Counted() {
				continue
			}
			all = append(all, n)
			if s.Sort != "" {
				now[n.ID] = rates.now(n.ID)
			}
		}
	}
	if by := sorts[s.Sort]; by != nil {
		slices.SortStableFunc(all, func(a, b *node) int { return cmp.Compare(by(now[b.ID]), by(now[a.ID])) })
	}
	l := &list{Domain: s.Domain, Rules: len(all)}
	l.setRows(all, s.Offset, maxRows, rates)
	for i := range l.Rows {
		l.Rows[i].Flat = true
	}
	return l
}

// setRows sets at most n rows from an offset on.
func (l *list) setRows(all []*node, offset, n int, rates *rates) {
	l.Offset = min(max(offset, 0), len(all))
	end := min(l.Offset+n, len(all))
	for _, n := range all[l.Offset:end] {
		l.Rows = append(l.Rows, rates.row(n))
	}
	l.More = len(all) - end
}

// row returns a rule with its rate.
func (r *rates) row(n *node) row {
	out := row{node: n}
	out.rate, out.HasRate = r.of(n.ID)
	return out
}

// nested returns the rules of each domain below each other. All lists together have at most maxRows rows:
// those of later domains are empty.
func (t *tree) nested(s *selection, rates *rates) []*list {
	var out []*list
	room := maxRows
	for _, d := range t.domains {
		if len(out) == maxRows {
			break
		}
		if s.Domain == "" || s.Domain == d.Name {
			l := &list{Domain: d.Name, Rules: len(d.Nodes), Limits: d.Limits}
			l.setRows(d.Nodes, s.Offset, room, rates)
			room -= len(l.Rows)
			out = append(out, l)
		}
	}
	return out
}
