package quota

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// maxEntries and maxBytes bound a BucketId, whose text is kept.
	maxEntries = 32
	maxBytes   = 4096
)

// bucketKey identifies a bucket: its domain and its sorted entries.
type bucketKey struct{ domain, id string }

// keyOf returns the key of a BucketId, and its entries sorted by their keys.
func keyOf(domain string, id map[string]string) (bucketKey, []ratelimit.Entry, error) {
	if len(id) == 0 || len(id) > maxEntries {
		return bucketKey{}, nil, status.Errorf(codes.InvalidArgument, "a bucket_id has %d entries: it must have 1 to %d", len(id), maxEntries)
	}
	entries, size := make([]ratelimit.Entry, 0, len(id)), 0
	for key, value := range id {
		entries = append(entries, ratelimit.Entry{Key: key, Value: value})
		size += len(key) + len(value)
	}
	if size > maxBytes {
		return bucketKey{}, nil, status.Errorf(codes.InvalidArgument, "a bucket_id has %d bytes: it may have %d", size, maxBytes)
	}
	slices.SortFunc(entries, func(a, b ratelimit.Entry) int { return cmp.Compare(a.Key, b.Key) })
	var b strings.Builder
	add := func(text string) {
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	for _, e := range entries {
		add(e.Key)
		add(e.Value)
	}
	return bucketKey{domain, b.String()}, entries, nil
}
