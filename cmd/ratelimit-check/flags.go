package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// settings is the command line, parsed and checked.
type settings struct {
	paths          []string // directories, files, "-"
	merge          bool
	ignoreDotFiles bool
	calendarMonths bool
	strict         bool
	format         string
	explains       []explainFlag
	at             time.Time // zero means now
	prefix         string
	keyFormat      string
	color          cli.Color

	// Of a replay.
	replay    string // file; empty for none
	against   string
	mapping   string
	domain    string
	logFormat string
	top       int
	fail      bool
}

// explainFlag is one -explain flag with its descriptor.
type explainFlag struct {
	domain     string
	descriptor ratelimit.Descriptor
	after      int // number of arguments before it
}

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use:  "ratelimit-check [flags] DIR|FILE|-...",
		Long: "ratelimit-check checks the configuration of rate limits, explains decisions, and replays access logs against it.",
		Example: `  ratelimit-check limits/config -explain demo client=alice
    	which rule the descriptor matches, and why
  ratelimit-check limits/config -replay access.log.gz
    	what would have been refused`,
		Annotations: map[string]string{cli.ExitCodes: "1 also for faults in the configuration"},
	}
	s := &settings{}
	s.define(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(s.arguments(args, c.ArgsLenAtDash()), s.check()); err != nil {
			return &cli.UsageError{Err: err}
		}
		return s.run(c.Context(), env)
	}
	return env.Execute(ctx, c)
}

// define defines the flags.
func (s *settings) define(f *pflag.FlagSet) {
	f.Func("config_dir", "check the files in `directory`; the same as naming it as an argument", func(dir string) error {
		s.paths = append(s.paths, dir)
		return nil
	})
	f.BoolVar(&s.merge, "merge_domain_configs", false, "allow several files to configure one domain, like MERGE_DOMAIN_CONFIG")
	f.BoolVar(&s.ignoreDotFiles, "ignore_dot_files", false, "ignore files and directories whose name begins with a dot, like RUNTIME_IGNOREDOTFILES")
	f.BoolVar(&s.calendarMonths, "calendar_months", false, "limits per month follow the calendar in UTC, like USE_CALENDAR_MONTH_RATE_LIMIT")
	f.BoolVar(&s.strict, "strict", false, "treat warnings as errors")
	f.StringVar(&s.format, "format", "text", "output `format`: text or json")
	f.Func("explain", "explain which rule a descriptor of `domain` matches and why; the descriptor is the next argument, as key=value,key=value,...; may be repeated", func(domain string) error {
		s.explains = append(s.explains, explainFlag{domain: domain, after: f.NArg()})
		return nil
	})
	f.Func("at", "`time` of the explained counter keys: 2006-01-02T15:04:05Z or Unix seconds (default now)", s.setAt)
	f.StringVar(&s.prefix, "cache_key_prefix", "", "`prefix` of the explained counter keys, like CACHE_KEY_PREFIX")
	f.StringVar(&s.keyFormat, "counter_key_format", string(ratelimit.KeyReference), "`format` of the explained counter keys, like COUNTER_KEY_FORMAT: "+ratelimit.KeyFormatNames)
	s.color.Define(f)
	s.defineReplay(f)
}

func (s *settings) defineReplay(f *pflag.FlagSet) {
	f.StringVar(&s.replay, "replay", "", "replay the access log in `file`, or - for the standard input, and report what would have been refused")
	f.StringVar(&s.against, "against", "", "compare the replay with the configuration in a `directory` or file")
	f.StringVar(&s.mapping, "mapping", "", "`file` that maps the fields of the log to descriptors (default: fields with the names of the rules' keys)")
	f.StringVar(&s.domain, "domain", "", "`name` of the replayed domain (default: that of the mapping, or the only one)")
	f.StringVar(&s.logFormat, "log_format", string(replay.Auto), "`format` of the log: "+replay.FormatNames)
	f.IntVar(&s.top, "top", 10, "report the `n` worst keys and clients of each rule")
	f.BoolVar(&s.fail, "fail", false, "exit with 1 if the replay refuses a request, or decides none; with -against, if it refuses one that was not refused before")
	f.BoolFunc("json", "the same as -format=json", func(string) error {
		s.format = "json"
		return nil
	})
}

// arguments reads the arguments: the descriptor of each -explain that comes before, and paths. After -- there are
// only paths; dash is the number of arguments before it, or -1.
func (s *settings) arguments(args []string, dash int) error {
	next := 0 // the first -explain without a descriptor
	for i, arg := range args {
		if next == len(s.explains) || s.explains[next].after > i || dash >= 0 && i >= dash {
			s.paths = append(s.paths, arg)
			continue
		}
		q := &s.explains[next]
		var err error
		if q.descriptor, err = parseDescriptor(arg); err != nil {
			return fmt.Errorf("-explain %s: %w", q.domain, err)
		}
		next++
	}
	if next < len(s.explains) {
		return fmt.Errorf("-explain %s: the descriptor is missing: pass it as the next argument, such as client=bob,path=/login", s.explains[next].domain)
	}
	return nil
}

func (s *settings) check() error {
	var errs []error
	bad := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, x := range s.explains {
		bad(x.domain == "", "-explain: the domain is empty: use -explain DOMAIN key=value,key=value")
	}
	bad(s.format != "text" && s.format != "json", "-format %q: use text or json", s.format)
	bad(!ratelimit.KeyFormat(s.keyFormat).Valid(), "-counter_key_format %q: use %s", s.keyFormat, ratelimit.KeyFormatNames)
	bad(len(s.paths) == 0, "nothing to check: pass a directory or file, or - for the standard input")
	bad(slices.Contains(s.paths, ""), "empty directory name")
	bad(s.replay == "" && (s.against != "" || s.mapping != "" || s.domain != "" || s.fail), "-against, -mapping, -domain and -fail need -replay")
	bad(s.replay == standardInput && s.reads(standardInput), "-replay -: the standard input is the configuration already")
	bad(!replay.Format(s.logFormat).Valid(), "-log_format %q: use %s", s.logFormat, replay.FormatNames)
	bad(s.top < 1, "-top %d: use at least 1", s.top)
	s.paths = distinct(s.paths)
	return errors.Join(errs...)
}

// distinct cleans paths and removes duplicates, so that a file does not conflict
// with itself.
func distinct(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p = filepath.Clean(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// maxUnix is the end of the year 9999, the last for which windows are defined.
const maxUnix = 253402300799

func (s *settings) setAt(text string) error {
	unix, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		s.at = time.Unix(unix, 0)
	} else if s.at, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("use a time like 2006-01-02T15:04:05Z, or Unix seconds")
	}
	if s.at.Unix() < 0 || s.at.Unix() > maxUnix {
		return errors.New("use a time in the years 1970 to 9999")
	}
	return nil
}

// parseDescriptor reads key=value,key=value. Values may contain "=" but no comma.
func parseDescriptor(text string) (d ratelimit.Descriptor, err error) {
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return d, fmt.Errorf("invalid descriptor %q: %q is not key=value", text, pair)
		}
		d.Entries = append(d.Entries, ratelimit.Entry{Key: key, Value: value})
	}
	return d, nil
}
