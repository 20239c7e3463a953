package config

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// limitText is a limit as far as it was written.
type limitText struct {
	ratelimit.Limit
	scope     scope
	at        mark
	unit      string
	unitAt    mark
	hasNumber bool
}

// limit reads rate_limit, nil if it is null.
func (d *decoder) limit(s scope, p pair) *ratelimit.Limit {
	s.note(p, markOf(p.key))
	n := target(p.value)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.mismatch(s, p, "a map with unit and requests_per_unit")
		return nil
	}
	l := &limitText{at: markOf(p.key), scope: scope{entry: s.entry, prefix: p.name + ".", from: s.within(p)}}
	d.fields(p.value, inLimit, func(p pair) { d.limitField(l, p) })
	d.settleUnit(l)
	return &l.Limit
}

func (d *decoder) limitField(l *limitText, p pair) {
	switch p.name {
	case "unit":
		l.unit, l.unitAt = decode[string](d, l.scope, p, wantText), markOf(p.value)
	case "requests_per_unit":
		l.RequestsPerUnit = decode[uint32](d, l.scope, p, wantNumber)
		l.hasNumber = !isNull(target(p.value))
	case "unlimited":
		l.Unlimited = decode[bool](d, l.scope, p, wantFlag)
	case "name":
		l.Name = decode[string](d, l.scope, p, wantText)
	case "replaces":
		d.list(l.scope, p, "a list of maps with a name", func(at *yaml.Node) { d.replaces(l, at) })
	}
}

// replaces reads one entry of the list. One without a name is for Compile to find.
func (d *decoder) replaces(l *limitText, at *yaml.Node) {
	entry := pair{name: fmt.Sprintf("replaces[%d]", len(l.Replaces)), from: aliasMark(at)}
	l.scope.note(entry, markOf(at))
	s := scope{entry: l.scope.entry, prefix: l.scope.prefix + entry.name + ".", from: l.scope.within(entry)}
	name := ""
	d.fields(at, inReplaces, func(p pair) { name = decode[string](d, s, p, wantText) })
	l.Replaces = append(l.Replaces, name)
}

// settleUnit turns the unit's text into a unit. Only here is that text known, so
// it is here that it is refused.
func (d *decoder) settleUnit(l *limitText) {
	var ok bool
	l.Unit, ok = ratelimit.ParseUnit(l.unit)
	switch {
	case l.unit != "" && !ok && l.Unlimited:
		d.warn(l.unitAt, "unit '%s' is not a unit; it is ignored because the limit is unlimited, and better left out", show(l.unit))
	case l.unit != "" && !ok:
		d.fault(l.unitAt, "invalid rate limit unit '%s': use %s", show(l.unit), ratelimit.UnitNames)
		l.scope.spoil("unit")
	case ok && !l.Unlimited && !l.hasNumber:
		d.warn(l.at, "requests_per_unit is missing: it counts as 0, which puts every request over the limit")
	}
}
