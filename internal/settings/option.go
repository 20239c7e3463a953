package settings

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Default replaces 0 by the standard value of an option of a package. It appends an error to errs if the
// option is below 0 or above most.
func Default[T int | time.Duration](errs *[]error, name string, option *T, standard, most T) {
	if *option < 0 || *option > most {
		*errs = append(*errs, fmt.Errorf("%s %v: must be more than 0 and at most %v, or 0 for %v", name, *option, most, standard))
	}
	*option = cmp.Or(*option, standard)
}

// HostPorts trims space around the addresses of a list of servers, and returns an error that names all
// that CheckHostPort refuses. An empty list is an error too.
func HostPorts(what string, addrs []string) ([]string, error) {
	if len(addrs) == 0 {
		return nil, fmt.Errorf("no %s: give at least one address, host:port", what)
	}
	trimmed := make([]string, len(addrs))
	var errs []error
	for i, addr := range addrs {
		trimmed[i] = strings.TrimSpace(addr)
		if err := CheckHostPort(trimmed[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s, number %d, %w", what, Quote(trimmed[i]), i, err))
		}
	}
	return trimmed, errors.Join(errs...)
}
