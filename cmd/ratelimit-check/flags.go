package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// settings is the command line, parsed and checked.
type settings struct {
	paths          []string // directories, files, "-"
	merge          bool
	ignoreDotFiles bool
	strict         bool
	format         string
	questions      []question
	at             time.Time // zero for the present
	prefix         string
}

// question is one -explain.
type question struct {
	domain     string
	descriptor ratelimit.Descriptor
}

func parseSettings(env cli.Env) (*settings, error) {
	s := &settings{}
	var domains []string // of -explain, each still without its descriptor
	flags := s.flags(&domains)
	for rest := env.Args; ; {
		env.Args = rest
		if err := env.Parse(flags); err != nil {
			return nil, err
		}
		left := flags.Args()
		if ended(rest, left) {
			s.paths = append(s.paths, left...)
			break
		}
		if len(left) == 0 {
			break
		}
		if err := s.argument(left[0], &domains); err != nil {
			return nil, err
		}
		rest = left[1:]
	}
	if err := s.check(domains); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return s, nil
}

func (s *settings) flags(domains *[]string) *flag.FlagSet {
	f := flag.NewFlagSet("ratelimit-check", flag.ContinueOnError)
	f.Func("config_dir", "check the files in `directory`; the same as naming it as an argument", func(dir string) error {
		s.paths = append(s.paths, dir)
		return nil
	})
	f.BoolVar(&s.merge, "merge_domain_configs", false, "let several files describe one domain, as MERGE_DOMAIN_CONFIG does")
	f.BoolVar(&s.ignoreDotFiles, "ignore_dot_files", false, "leave out files and directories whose name begins with a dot, as RUNTIME_IGNOREDOTFILES does")
	f.BoolVar(&s.strict, "strict", false, "let warnings fail the check")
	f.StringVar(&s.format, "format", "text", "report as `form`: text or json")
	f.Func("explain", "say which rule a descriptor of `domain` meets and why; the descriptor is the next argument, as key=value,key=value,...; may be repeated", func(domain string) error {
		*domains = append(*domains, domain)
		return nil
	})
	f.Func("at", "explain the counter keys of `time`: 2006-01-02T15:04:05Z or Unix seconds; by default of the present", s.setAt)
	f.StringVar(&s.prefix, "cache_key_prefix", "", "explain counter keys with `text` before them, as CACHE_KEY_PREFIX puts it")
	f.Usage = func() {
		fmt.Fprint(f.Output(), "Usage: ratelimit-check [flags] DIR|FILE|-...\n       ratelimit-check DIR -explain DOMAIN key=value,key=value\n")
		f.PrintDefaults()
	}
	return f
}

// ended reports whether the flags ended with "--", so that the rest are arguments.
func ended(args, left []string) bool {
	at := len(args) - len(left)
	return at > 0 && args[at-1] == "--"
}

// argument is a descriptor if a domain waits for one, else a path.
func (s *settings) argument(text string, domains *[]string) error {
	if len(*domains) == 0 {
		s.paths = append(s.paths, text)
		return nil
	}
	d, err := parseDescriptor(text)
	if err != nil {
		return cli.Usagef("-explain %s: %w", (*domains)[0], err)
	}
	s.questions = append(s.questions, question{(*domains)[0], d})
	*domains = (*domains)[1:]
	return nil
}

func (s *settings) check(domains []string) error {
	var errs []error
	if len(domains) > 0 {
		errs = append(errs, fmt.Errorf("-explain %s: the descriptor is missing: name it next, such as client=bob,path=/login", domains[0]))
	}
	for _, q := range s.questions {
		if q.domain == "" {
			errs = append(errs, errors.New("-explain: the domain is empty: name it, and then the descriptor"))
		}
	}
	if s.format != "text" && s.format != "json" {
		errs = append(errs, fmt.Errorf("-format %q: use text or json", s.format))
	}
	if len(s.paths) == 0 {
		errs = append(errs, errors.New("nothing to check: name a directory or file, or - for the standard input"))
	}
	if slices.Contains(s.paths, "") {
		errs = append(errs, errors.New("the name of a directory is empty"))
	}
	s.paths = distinct(s.paths)
	return errors.Join(errs...)
}

// distinct cleans paths and drops repetitions: nobody wants a file to be in conflict
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

// Counter keys and windows are for times from 1970 to 9999.
const maxUnix = 253402300799

func (s *settings) setAt(text string) error {
	unix, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		s.at = time.Unix(unix, 0)
	} else if s.at, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("use a time like 2006-01-02T15:04:05Z, or Unix seconds")
	}
	if s.at.Unix() < 0 || s.at.Unix() > maxUnix {
		return errors.New("use a time from the years 1970 to 9999")
	}
	return nil
}

// parseDescriptor reads key=value,key=value. Values may hold "=" but no comma.
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
