package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/inventory/zone"
	api "github.com/ashlar-go/ashlar/inventory/client"
)

const (
	maxUpdates     = 200 // in one message of nsupdate, which has at most 64 kB
	maxNamesAtOnce = 100 // devices of one request
)

// zoneState is what a zone has, and the position in the changes that it belongs to.
type zoneState struct {
	Origin  string                 `json:"origin"`
	Since   string                 `json:"since"`
	Records map[string]zone.Record `json:"records"` // by the id of their device
}

func (a *app) nsupdateCommand() *cobra.Command {
	var origin, domain, state string
	var ttl int
	c := &cobra.Command{
		Use: "nsupdate --origin ZONE --state FILE [-- PROGRAM [ARGUMENT...]]", Short: "Bring the changes of devices to a DNS zone",
		Long: "Pass updates of a DNS zone to a program such as nsupdate: what devices have changed since the last run, or all of them the first time.\n\n" +
			"FILE has the records of the zone. It changes when the program succeeds, so that the next run repeats what has failed. Without a program the updates are printed.",
		Example: "  inventoryctl nsupdate --origin example.org --state zone.json -- nsupdate -k ddns.key",
		Args:    cli.Args(0, math.MaxInt, "a program"),
		RunE: a.runs(func(c *client, args []string) error {
			z, err := zone.New(origin, domain)
			if err != nil {
				return cli.Usagef("--origin and --domain: %w", err)
			}
			if state == "" || ttl < 0 || ttl > math.MaxInt32 {
				return cli.Usagef("nsupdate needs --state FILE, and a --ttl of 0 to %d", math.MaxInt32)
			}
			s, err := readZone(state, z)
			if err != nil {
				return err
			}
			before := slices.Collect(maps.Values(s.Records))
			if err := c.follow(s, z); err != nil {
				return err
			}
			script := updates(z, before, slices.Collect(maps.Values(s.Records)), ttl)
			if len(args) == 0 {
				_, err := a.env.Stdout.Write(script)
				return err
			}
			if len(script) > 0 {
				program := exec.CommandContext(c.ctx, args[0], args[1:]...) // #nosec G204 -- that of the user
				program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(script), a.env.Stdout, a.env.Stderr
				if err := program.Run(); err != nil {
					return fmt.Errorf("%s: %w; the next run repeats the updates", args[0], err)
				}
			}
			text, err := json.Marshal(s)
			if err != nil {
				return err
			}
			return cli.WriteFile(state, 0o600, bytes.NewReader(text))
		}),
	}
	c.Flags().StringVar(&origin, "origin", "", "the `zone`, such as example.org or 2.0.192.in-addr.arpa")
	c.Flags().StringVar(&domain, "domain", "", "the `domain` of the hostnames, in a zone for the names of addresses")
	c.Flags().StringVar(&state, "state", "", "the `file` with the records of the zone, which the first run creates")
	c.Flags().IntVar(&ttl, "ttl", 3600, "the TTL of new records in `seconds`")
	return c
}

// readZone reads the state of a zone, an empty one if the file does not exist.
func readZone(path string, z *zone.Zone) (*zoneState, error) {
	s := &zoneState{Origin: z.Origin(), Records: map[string]zone.Record{}}
	text, err := os.ReadFile(path) // #nosec G304 -- that of the user
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err == nil && s.Origin != z.Origin() {
		err = fmt.Errorf("it is of the zone %s", s.Origin)
	}
	if err != nil {
		return nil, fmt.Errorf("the state %s: %w", path, err)
	}
	return s, nil
}

// follow brings the records to what the devices have now: those that have changed, or all if the server does not know which.
func (c *client) follow(s *zoneState, z *zone.Zone) error {
	query := url.Values{"fields": {"id,hostname,ip"}}
	read := func() error {
		for doc, err := range c.api.Pages(c.ctx, "devices", query) {
			var d struct{ ID, Hostname, IP string }
			if err == nil {
				err = json.Unmarshal(doc, &d)
			}
			if err != nil {
				return err
			}
			if r, _, in := z.Record(d.Hostname, d.IP); in {
				s.Records[d.ID] = r
			}
		}
		return nil
	}
	changed := map[string]bool{}
	for s.Since != "" {
		var page struct {
			Data []struct {
				ID string `json:"resource_id"`
			}
			Next string
		}
		err := c.get("/changes", url.Values{"since": {s.Since}, "resource": {"devices"}, "limit": {"1000"}}, &page)
		if gone, ok := errors.AsType[*api.Error](err); ok && gone.Status == http.StatusGone {
			s.Since = ""
			break
		}
		if err != nil {
			return err
		}
		for _, change := range page.Data {
			changed[change.ID] = true
		}
		if page.Next == s.Since {
			break
		}
		s.Since = page.Next
	}
	if s.Since == "" {
		var err error
		if s.Since, err = c.api.Cursor(c.ctx); err != nil {
			return err
		}
		clear(s.Records)
		return read()
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(changed)), maxNamesAtOnce) {
		query["id__in"] = []string{strings.Join(ids, ",")}
		for _, id := range ids {
			delete(s.Records, id)
		}
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// updates returns a script for nsupdate that changes the records of a zone. Devices may share one.
func updates(z *zone.Zone, before, after []zone.Record, ttl int) []byte {
	lines := func(of, without []zone.Record, line func(r zone.Record) string) (all []string) {
		have := map[zone.Record]bool{}
		for _, r := range without {
			have[r] = true
		}
		for _, r := range of {
			if !have[r] {
				have[r], all = true, append(all, line(r))
			}
		}
		slices.Sort(all)
		return all
	}
	all := slices.Concat(
		lines(before, after, func(r zone.Record) string { return fmt.Sprintf("update delete %s. %s %s\n", r.Name, r.Type, r.Data) }),
		lines(after, before, func(r zone.Record) string {
			return fmt.Sprintf("update add %s. %d %s %s\n", r.Name, ttl, r.Type, r.Data)
		}))
	var b []byte
	for some := range slices.Chunk(all, maxUpdates) {
		b = fmt.Appendf(b, "zone %s.\n", z.Origin())
		for _, line := range some {
			b = append(b, line...)
		}
		b = append(b, "send\n"...)
	}
	return b
}
