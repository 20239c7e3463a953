package main

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// A completion must not keep a shell waiting.
const (
	completeTime = 2 * time.Second
	completions  = 50
)

type completer = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// completing runs f with a client that has little time.
func (a *app) completing(c *cobra.Command, f func(client *client) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completeTime)
	defer cancel()
	p, err := a.profile()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	connected, err := a.connect(ctx, p, 1) // quick and quiet: there is no time for another attempt
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f(connected), cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the names of the records of a resource.
func (a *app) completeNames(r *records.Resource) completer {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, func(client *client) []string { return client.names(r, typed) })
	}
}

// names returns names that begin with what was typed: of devices before the colon, and then of their ports.
func (c *client) names(r *records.Resource, typed string) (names []string) {
	query, before := url.Values{}, ""
	if parent := parentOf(r); parent != nil && parent.Required {
		of, rest, ok := strings.Cut(typed, ":")
		if !ok {
			for _, name := range c.names(parent.Ref.Resource(), typed) {
				names = append(names, name+":")
			}
			return names
		}
		id, err := c.find(parent.Ref.Resource(), of)
		if err != nil {
			return nil
		}
		query.Set(parent.Name, id)
		typed, before = rest, of+":"
	}
	for _, key := range r.ShortKeys() {
		if key.Kind != records.Text {
			continue
		}
		own := maps.Clone(query)
		if typed != "" {
			own.Set(key.Name+"__startswith", typed)
		}
		found, _ := c.column(r, own, key.Name, completions) // after an error there are no completions
		for _, name := range found {
			if name != "" && len(names) < completions {
				names = append(names, before+name)
			}
		}
	}
	return names
}

// completeValues completes the values of a field: those of an enumeration, the names of records, or the
// values that records have.
func (a *app) completeValues(r *records.Resource, f *records.Field) completer {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(f.Enum) > 0 {
			return f.Enum, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completing(c, func(client *client) []string {
			if f.Member != "" {
				return client.names(f.Ref.Resource(), typed)
			}
			if !f.Counted {
				return nil
			}
			var summary struct{ By map[string]map[string]int }
			if client.get("/summary", url.Values{"resource": {r.Name}, "by": {f.Name}}, &summary) != nil {
				return nil
			}
			return slices.Sorted(maps.Keys(summary.By[f.Name]))
		})
	}
}

// completeFields completes FIELD=VALUE after some names of records.
func (a *app) completeFields(r *records.Resource, names int) completer {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) < names {
			return a.completeNames(r)(c, args, typed)
		}
		name, text, ok := strings.Cut(typed, "=")
		if !ok {
			var fields []string
			for _, field := range settable(r) {
				fields = append(fields, field+"=")
			}
			return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		f, known := r.Field(name)
		if of, member := r.ByMember(name); member {
			f, known = of, true
		}
		if !known {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, directive := a.completeValues(r, f)(c, args, text)
		for i := range found {
			found[i] = name + "=" + found[i]
		}
		return found, directive
	}
}
