package main

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	api "github.com/ashlar-go/ashlar/inventory/client"
)

// proposal is a change that somebody else approves.
type proposal struct {
	ID, Author, Comment, Summary, Status, Reason string

	DecidedBy string `json:"decided_by"`
	Hidden    bool
	Changes   []api.Change
	Conflicts []struct {
		Type   string `json:"resource_type"`
		ID     string `json:"resource_id"`
		Fields []struct {
			Field              string
			Before, Now, After any
		}
	}
}

func (a *app) proposalCommand() *cobra.Command {
	parent := &cobra.Command{
		Use: "proposal COMMAND", Short: "Look at changes that users have proposed, and apply or refuse them",
		Long: "Look at changes that users have proposed (inventoryctl apply --propose), and apply or refuse those of others.",
	}
	var status, reason string
	list := &cobra.Command{Use: "list", Short: "List proposals", Args: cli.Args(0, 0, "no arguments"), RunE: a.runs(func(c *client, _ []string) error {
		query := url.Values{}
		if status != "all" {
			query.Set("status", status)
		}
		var page struct{ Data []proposal }
		if err := c.get("/proposals", query, &page); err != nil {
			return err
		}
		t := newTable(a.env.Stdout, "ID", "STATUS", "AUTHOR", "COMMENT", "CHANGES")
		for _, p := range page.Data {
			t.row(p.ID, p.Status, p.Author, p.Comment, p.Summary)
		}
		t.flush()
		return nil
	})}
	list.Flags().StringVar(&status, "status", "open", "the `state`: open, applied, refused, withdrawn, or all")
	one := func(use, short string, do func(c *client, path string) error) *cobra.Command {
		return &cobra.Command{Use: use + " ID", Short: short, Args: cli.Args(1, 1, "the id of a proposal"), RunE: a.loads(func(c *client, args []string) error {
			return do(c, "/proposals/"+url.PathEscape(args[0]))
		})}
	}
	decide := func(c *client, path string, body any) error {
		var p proposal
		err := c.send(http.MethodPost, path, nil, body, &p)
		if err == nil {
			printf(a.env.Stdout, "%s", p.Status)
		}
		return err
	}
	refuse := one("refuse", "Refuse a proposal, or withdraw your own", func(c *client, path string) error {
		return decide(c, path+"/refuse", map[string]string{"reason": reason})
	})
	refuse.Flags().StringVar(&reason, "reason", "", "the `reason`, which the author reads; needed for proposals of others")
	parent.AddCommand(list, one("show", "Show what a proposal would change; the exit code is 1 if it can't be applied", (*client).showProposal),
		one("apply", "Make the changes of another user's proposal", func(c *client, path string) error { return decide(c, path+"/apply", nil) }), refuse)
	return parent
}

// showProposal prints a proposal.
func (c *client) showProposal(path string) error {
	var p proposal
	if err := c.get(path, nil, &p); err != nil {
		return err
	}
	printf(c.env.Stdout, "%s by %s: %s", p.Status, cli.Printable(p.Author), cli.Printable(p.Comment))
	if p.DecidedBy != "" {
		printf(c.env.Stdout, "decided by %s %s", cli.Printable(p.DecidedBy), cli.Printable(p.Reason))
	}
	c.printChanges(p.Changes)
	if p.Hidden {
		printf(c.env.Stderr, "it also has changes that you may not see")
	}
	for _, of := range p.Conflicts {
		printf(c.env.Stdout, "! %s %s has changed since, or is gone", of.Type, of.ID)
		for _, f := range of.Fields {
			printf(c.env.Stdout, "    %s: was %s, is %s, proposed %s", f.Field, shown(f.Before), shown(f.Now), shown(f.After))
		}
	}
	if len(p.Conflicts) > 0 {
		return errors.New("records have changed since this was proposed")
	}
	return nil
}
