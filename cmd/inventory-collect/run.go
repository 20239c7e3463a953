package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
)

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use:  "inventory-collect [flags] [HOST...]",
		Long: "inventory-collect reads the ports and neighbours of devices over SNMP, for the drift comparison or the import of an inventory.",
		Example: `  SNMP_COMMUNITY=public inventory-collect sw1.example.com
    	prints the tables of one device
  inventory-collect -targets devices.txt -credentials-file snmp.env -format jsonl -output rows.jsonl
    	writes rows for inventoryd import`,
	}
	parse := defineOptions(c.Flags())
	c.RunE = func(c *cobra.Command, hosts []string) error {
		o, err := parse(env.Environ, hosts)
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		if o.output == "" {
			return o.print(c.Context(), env, env.Stdout)
		}
		f, err := os.Create(o.output)
		if err != nil {
			return fmt.Errorf("-output: %w", err)
		}
		return errors.Join(o.print(c.Context(), env, f), f.Close())
	}
	return env.Execute(ctx, c)
}

// print reads the devices and prints them to out, and what failed to the standard error.
func (o *options) print(ctx context.Context, env cli.Env, out io.Writer) error {
	stderr, done, p := env.Stderr, int64(0), cli.NewProgress(env, "inventory-collect")
	defer p.End()
	w := &writer{out: bufio.NewWriter(out), tables: o.format == "json"}
	failed, names, serials := 0, map[string]string{}, map[string]string{}
	err := o.collector.All(ctx, o.targets, func(target string, r *collect.Result, err error) error {
		done++
		p.Show(func(elapsed time.Duration) string { return cli.Done(done, int64(len(o.targets)), "devices", elapsed) })
		if err == nil {
			err = unique(names, target, r)
		}
		if err != nil {
			failed++
			fmt.Fprintf(stderr, "inventory-collect: %s: %v\n", target, err)
			return nil
		}
		if other := serials[r.SerialNumber]; other != "" {
			fmt.Fprintf(stderr, "inventory-collect: %s: left out its serial number %q, which %s has too\n", target, r.SerialNumber, other)
			r.SerialNumber = ""
		} else if r.SerialNumber != "" {
			serials[r.SerialNumber] = target
		}
		if len(r.Absent) > 0 {
			fmt.Fprintf(stderr, "inventory-collect: %s: has no %s\n", target, strings.Join(r.Absent, ", "))
		}
		if r.Unnamed > 0 {
			fmt.Fprintf(stderr, "inventory-collect: %s: left out %d interfaces without a name: ifName and ifDescr are empty\n", target, r.Unnamed)
		}
		return w.device(r)
	})
	if err := errors.Join(err, w.end()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d devices failed", failed, len(o.targets))
	}
	return nil
}

// unique returns an error if another device has the name of one.
func unique(names map[string]string, target string, r *collect.Result) error {
	name := strings.ToLower(r.DeviceName())
	if other, ok := names[name]; ok {
		return fmt.Errorf("has the name %q, as %s does: give each device a sysName of its own, or list it once", r.DeviceName(), other)
	}
	names[name] = target
	return nil
}

// options contains the validated flags.
type options struct {
	collector *collect.Collector
	targets   []string
	format    string
	output    string
}

// defineOptions defines the flags. parse returns the options of parsed flags and arguments.
func defineOptions(flags *pflag.FlagSet) (parse func(environ map[string]string, hosts []string) (*options, error)) {
	o, c := &options{}, collect.Defaults()
	targets := flags.String("targets", "", "`file` with a device on each line: host, host:port or [address]:port")
	community := flags.String("community-file", "", "`file` of the community of SNMPv2c, which only its owner may read; default: the value of SNMP_COMMUNITY")
	credentials := flags.String("credentials-file", "", "`file` with lines such as SNMP_USER=name, which only its owner may read; default: the environment variables of these names")
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "how long to wait for each response")
	flags.IntVar(&c.Retries, "retries", c.Retries, "how often to send a request without a response again")
	flags.DurationVar(&c.DeviceTime, "device-time", c.DeviceTime, "maximum duration for each device")
	flags.IntVar(&c.Concurrency, "concurrency", c.Concurrency, "number of devices to read at a time")
	flags.IntVar(&c.MaxRows, "max-rows", c.MaxRows, "maximum number of rows of a table")
	flags.StringVar(&o.format, "format", "json", "json: tables for POST /drift; jsonl: rows for POST /import and inventoryd import")
	flags.StringVar(&o.output, "output", "", "`file` to write; default: standard output")
	return func(environ map[string]string, hosts []string) (*options, error) {
		given, err := readCredentials(environ, *community, *credentials)
		if err == nil {
			o.collector, err = collect.New(given, c)
		}
		var err2 error
		if o.targets, err2 = readTargets(hosts, *targets); o.format != "json" && o.format != "jsonl" {
			err2 = errors.Join(err2, fmt.Errorf("unknown -format %q: use json or jsonl", o.format))
		}
		return o, errors.Join(err, err2)
	}
}
