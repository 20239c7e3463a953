package config

import (
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// ParseAlgorithm returns the algorithm that the fields algorithm and limit_type of a rate_limit
// stand for, in any letter case; both may be empty. If they are invalid, reason is what a fault
// says about field, and the algorithm is the one that was probably meant.
func ParseAlgorithm(algorithm, limitType string) (a ratelimit.Algorithm, field, reason string) {
	if algorithm == "" && limitType == "" {
		return ratelimit.FixedWindow, "", ""
	}
	const types = "rate or concurrency"
	kind := closest(limitType, types)
	a, ok := ratelimit.ParseAlgorithm(algorithm)
	if !ok {
		a, _ = ratelimit.ParseAlgorithm(closest(algorithm, ratelimit.AlgorithmNames))
	}
	if kind == ratelimit.Concurrency.String() {
		a = ratelimit.Concurrency
	}
	switch {
	case limitType != "" && !strings.EqualFold(limitType, kind):
		return a, "limit_type", invalid("limit_type", limitType, types)
	case algorithm == "":
	case a == ratelimit.Concurrency && limitType == "":
		return a, "algorithm", "invalid algorithm 'concurrency': write limit_type: concurrency instead"
	case a == ratelimit.Concurrency:
		return a, "algorithm", "algorithm can't be combined with limit_type: concurrency, which counts requests in progress: remove one of them"
	case !ok:
		return a, "algorithm", invalid("algorithm", algorithm, ratelimit.AlgorithmNames)
	}
	return a, "", ""
}

// invalid returns the reason of a fault about a field whose value is none of some words, which
// are listed as in an error message.
func invalid(field, value, words string) string {
	hint := "use " + words
	if meant := closest(value, words); meant != "" {
		hint = "did you mean '" + meant + "'?"
	}
	return fmt.Sprintf("invalid %s '%.100s': %s", field, value, hint)
}

// closest returns the word that was probably meant, or "".
func closest(value, words string) string {
	return suggest.Among(value, split(words))
}

// split returns the words of a list such as "a, b or c".
func split(words string) []string {
	return strings.Split(strings.ReplaceAll(words, " or ", ", "), ", ")
}
