package lists

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// command is something to do or a page to go to, in the command palette.
type command struct {
	Label, Icon, Kind string
	URL               string
	Theme             string // the command chooses this theme
}

// maxCommands is the number of commands that the palette shows.
const maxCommands = 8

// commands returns what the sender may do.
func commands(q *site.Request) (all []command) {
	for _, g := range q.Nav() {
		for _, l := range g.Links {
			for _, l := range append([]ui.NavLink{l}, l.Below...) {
				all = append(all, command{Label: l.Label, Icon: l.Icon, Kind: "Go to", URL: l.URL})
			}
		}
	}
	for _, r := range q.Schema.Resources() {
		if !r.Internal && q.May(r.Name, records.RouteCreate) {
			all = append(all, command{Label: "New " + r.Noun(), Icon: "plus", Kind: "Create", URL: q.ListURL(r.Name) + "/new"})
		}
	}
	all = append(all, command{Label: "Your account", Icon: "user", Kind: "Go to", URL: q.UI.URL("/account")})
	for _, theme := range []string{"light", "dark", "system"} {
		all = append(all, command{Label: "Theme: " + theme, Icon: "theme", Kind: "Appearance", Theme: theme})
	}
	return all
}

// matching returns the commands with all words of a text, those first that begin with it.
func matching(all []command, text string) []command {
	text = strings.ToLower(text)
	words := strings.Fields(text)
	all = slices.DeleteFunc(all, func(c command) bool {
		in := strings.ToLower(c.Kind + " " + c.Label)
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(in, w) })
	})
	slices.SortStableFunc(all, func(a, b command) int { return begins(b.Label, text) - begins(a.Label, text) })
	return all[:min(len(all), maxCommands)]
}

func begins(label, text string) int {
	if strings.HasPrefix(strings.ToLower(label), text) {
		return 1
	}
	return 0
}
