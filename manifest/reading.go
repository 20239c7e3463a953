package manifest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Reading is the result of lenient parsing.
type Reading struct {
	// Server has what could be read. A value of the wrong type is absent, a package or
	// remote that is not an object is empty, so that indices are those of the document.
	// Server is never nil.
	Server *Server
	// Report lists the problems of the whole document.
	Report *Report

	packages, remotes []Problems
}

// Read reads any document that [Parse] gave a tree, under the profile and with the
// BundleLabels and MaxProblems of the options. Use it for documents that others wrote: a package or
// remote can be used although another part of the document is not valid. [Document.Server]
// is for documents that must be valid.
func (d *Document) Read(opts *Options) *Reading {
	full := opts.withDefaults()
	r := &Reading{Server: new(Server), Report: d.Validate(opts)}
	root := d.json.Root
	if root == nil || root.Kind != KindObject {
		return r
	}
	dec := decoder{text: d.json.Text, walker: walker{found: &findings{max: defaultProblems}}}
	dec.value(root, reflect.ValueOf(r.Server).Elem())
	r.packages = d.parts("packages", packageObject, func(n *Node, dec *decoder) { dec.value(n, reflect.ValueOf(new(Package)).Elem()) }, &full)
	r.remotes = d.parts("remotes", remote, func(n *Node, dec *decoder) { dec.value(n, reflect.ValueOf(new(Remote)).Elem()) }, &full)
	return r
}

// Package returns a package of the Server if no error concerns it, else these errors as
// [Problems].
func (r *Reading) Package(i int) (*Package, error) {
	if err := part("package", r.packages, i); err != nil {
		return nil, err
	}
	return &r.Server.Packages[i], nil
}

// Remote returns a remote of the Server if no error concerns it, else these errors as
// [Problems].
func (r *Reading) Remote(i int) (*Remote, error) {
	if err := part("remote", r.remotes, i); err != nil {
		return nil, err
	}
	return &r.Server.Remotes[i], nil
}

func part(what string, list []Problems, i int) error {
	if i < 0 || i >= len(list) {
		return fmt.Errorf("no %s %d: the manifest has %d", what, i, len(list))
	}
	if len(list[i]) > 0 {
		return list[i]
	}
	return nil
}

// parts returns the errors that concern each element of a list: those in it, a duplicate of
// the list's own key, and what makes the whole text ambiguous.
func (d *Document) parts(key string, c check, read func(*Node, *decoder), opts *Options) []Problems {
	list := d.json.Root.Get(key)
	if list == nil || list.Kind != KindArray {
		return nil
	}
	all := d.syntaxReport().Problems
	everywhere := Problems{}
	for i := range all {
		if p := &all[i]; p.Rule == ruleTrailing || p.Pointer == "/"+key || len(all) < d.json.Count {
			everywhere = append(everywhere, *p)
		}
	}
	parts := make([]Problems, len(list.Elements))
	for i := range list.Elements {
		var path jsonpos.Path
		path.Key(key)
		path.Index(i)
		found := &findings{max: opts.MaxProblems}
		v := d.validator(found, opts)
		v.path = path
		c(v, &list.Elements[i])
		if found.nErrors == 0 {
			read(&list.Elements[i], &decoder{text: d.json.Text, walker: walker{found: found, path: path}})
		}
		errs, _ := found.report(d.json.Text, &origin{opts: *opts}).Err().(Problems)
		parts[i] = slices.Concat(everywhere, all.Below(path.Pointer()), errs)
		slices.SortStableFunc(parts[i], func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	return parts
}
