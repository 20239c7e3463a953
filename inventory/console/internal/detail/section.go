package detail

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// section is a part of a page that is loaded by itself: with the page, and again when records change that
// it follows. The template "detail-section" shows it.
type section struct {
	ID      string // of the element
	Kind    string // of Data, for the template
	Title   string
	Note    string // beside the title
	Follow  string // the resources whose changes it follows, separated by spaces
	Actions []action
	Problem string // what the API refused
	Data    any    // nil for nothing to show

	load func(*section) error // sets the fields above
}

// action is a link of a section.
type action struct{ Label, URL, Icon string }

// Shown reports whether there is anything to show.
func (s *section) Shown() bool { return s.Data != nil || s.Problem != "" }

// add adds an action.
func (s *section) add(label, url, icon string) {
	s.Actions = append(s.Actions, action{Label: label, URL: url, Icon: icon})
}

// run loads the section. A refusal of the API is shown in it; what the sender may not see is absent.
func (s *section) run() error {
	err := s.load(s)
	f, ok := site.Refused(err)
	switch {
	case !ok:
		return err
	case f.Status == http.StatusForbidden || f.Status == http.StatusNotFound:
		s.Data = nil
	default:
		s.Problem = f.Error()
	}
	return nil
}

// follow returns the resources of some that the sender may list, for section.Follow.
func follow(q *site.Request, resources ...string) string {
	return strings.Join(slices.DeleteFunc(resources, func(name string) bool { return !q.MaySee(name) }), " ")
}

// loadAll loads sections at once. For a request of htmx, which asks for one of them, it responds with that
// one, and done is true.
func loadAll(q *site.Request, template string, sections []*section) (done bool, err error) {
	if ui.IsPart(q.R) {
		target := q.R.Header.Get("HX-Target")
		for _, s := range sections {
			if s.ID == target {
				if err := s.run(); err != nil {
					return true, err
				}
				return true, q.Part(template, "detail-part", s)
			}
		}
		return true, httpx.Errorf(http.StatusNotFound, "The page has no such part")
	}
	calls := make([]func() error, len(sections))
	for i, s := range sections {
		calls[i] = s.run
	}
	return false, together(calls...)
}

// atOnce is the number of calls of the API that one request has at the same time.
const atOnce = 4

// together runs functions at once, and returns the error of the first of them that has one. It panics
// if one of them does.
func together(calls ...func() error) error {
	errs, panics := make([]error, len(calls)), make([]any, len(calls))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, call := range calls {
		turns <- struct{}{}
		all.Go(func() {
			defer func() {
				panics[i] = recover()
				<-turns
			}()
			errs[i] = call()
		})
	}
	all.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p) // in the goroutine of the request, where the server recovers
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
