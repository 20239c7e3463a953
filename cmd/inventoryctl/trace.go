package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func (a *app) traceCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "trace DEVICE:PORT", Short: "Follow cables from a port to the far end", Args: cli.Args(1, 1, "a port, such as sw1:eth0"),
		ValidArgsFunction: a.completeNames(records.Of[inventory.Interface](a.schema)),
		RunE: a.runs(func(c *client, args []string) error {
			ports := []struct{ resource, parameter string }{{"interfaces", "interface_id"}, {"front-ports", "front_port_id"}, {"rear-ports", "rear_port_id"}, {"terminations", "termination_id"}}
			var first error
			for _, port := range ports {
				if kind != "" && kind != port.resource {
					continue
				}
				r, _ := c.schema.Named(port.resource)
				id, err := c.find(r, args[0])
				if err != nil {
					first = cmp.Or(first, err)
					continue
				}
				return c.trace(url.Values{port.parameter: {id}})
			}
			return cmp.Or(first, cli.Usagef("--kind is %q: use interfaces, front-ports, rear-ports or terminations", kind))
		}),
	}
	c.Flags().StringVar(&kind, "kind", "", "the `kind` of the port: interfaces, front-ports, rear-ports or terminations; default: the first that has the name")
	return c
}

// trace prints the path of a port.
func (c *client) trace(query url.Values) error {
	var path struct {
		Complete bool
		Start    int
		Ends     []string
		Hops     []struct{ Type, Name, Status, Hostname string }
	}
	if err := c.get("/trace", query, &path); err != nil {
		return err
	}
	for i, hop := range path.Hops {
		begin := "  "
		if i == path.Start {
			begin = "* "
		}
		name := hop.Name
		if hop.Hostname != "" {
			name = hop.Hostname + ":" + hop.Name
		}
		if hop.Status != "" {
			name += " (" + hop.Status + ")"
		}
		printf(c.env.Stdout, "%s%-10s %s", begin, hop.Type, cli.Printable(name))
	}
	if !path.Complete {
		return fmt.Errorf("the path is not complete: it ends at %v", path.Ends)
	}
	return nil
}

func (a *app) nextCommand() *cobra.Command {
	prefixes := records.Of[inventory.Prefix](a.schema)
	parent := &cobra.Command{Use: "next COMMAND", Short: "Create the first free address or prefix in a prefix"}
	create := func(c *client, resource, name, path string, query url.Values, args []string) error {
		of, _ := c.schema.Named(resource)
		id, err := c.find(prefixes, name)
		if err != nil {
			return err
		}
		body, err := values(of, args)
		if err != nil {
			return err
		}
		var made map[string]json.RawMessage
		if err := c.send(http.MethodPost, "/prefixes/"+id+path, query, body, &made); err != nil {
			return err
		}
		printf(a.env.Stdout, "%s", cmp.Or(cell(made["address"]), cell(made["prefix"])))
		return nil
	}
	parent.AddCommand(
		&cobra.Command{Use: "address PREFIX [FIELD=VALUE...]", Short: "Create the first free address", Args: cli.Args(1, math.MaxInt, "a prefix"), ValidArgsFunction: a.completeNames(prefixes), RunE: a.loads(func(c *client, args []string) error {
			return create(c, "addresses", args[0], "/next-address", nil, args[1:])
		})},
		&cobra.Command{Use: "prefix PREFIX LENGTH [FIELD=VALUE...]", Short: "Create the first free prefix of a length", Args: cli.Args(2, math.MaxInt, "a prefix and a length"), ValidArgsFunction: a.completeNames(prefixes), RunE: a.loads(func(c *client, args []string) error {
			if _, err := strconv.Atoi(args[1]); err != nil {
				return cli.Usagef("the length %q is no number", args[1])
			}
			return create(c, "prefixes", args[0], "/next-prefix", url.Values{"prefix_length": {args[1]}}, args[2:])
		})},
	)
	return parent
}

func (a *app) ansibleCommand() *cobra.Command {
	var list bool
	var host string
	c := &cobra.Command{
		Use: "ansible --list | --host NAME", Short: "Print the devices as a dynamic inventory of Ansible", Args: cli.Args(0, 0, "no arguments"),
		RunE: a.runs(func(c *client, _ []string) error {
			if !list && host == "" {
				return cli.Usagef("ansible needs --list or --host NAME")
			}
			var hosts json.RawMessage
			if err := c.get("/sd/ansible", nil, &hosts); err != nil {
				return err
			}
			if !list {
				var of struct {
					Meta struct{ Hostvars map[string]json.RawMessage } `json:"_meta"`
				}
				if err := json.Unmarshal(hosts, &of); err != nil {
					return err
				}
				if hosts = of.Meta.Hostvars[host]; hosts == nil {
					return errors.New("there is no host " + strconv.Quote(host))
				}
			}
			_, err := a.env.Stdout.Write(append(hosts, '\n'))
			return err
		}),
	}
	c.Flags().BoolVar(&list, "list", false, "print all groups and hosts")
	c.Flags().StringVar(&host, "host", "", "print the variables of the host with this `name`")
	return c
}
