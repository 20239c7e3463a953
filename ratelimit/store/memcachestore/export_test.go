package memcachestore

import "time"

// ParseSRV is for fuzzing.
func ParseSRV(text string) (service, proto, name string, err error) {
	r, err := parseSRV(text)
	if err != nil {
		return "", "", "", err
	}
	return r.service, r.proto, r.name, nil
}

// ParseValue is for fuzzing.
func ParseValue(value []byte) (uint64, error) { return new(lane).parse(value) }

// Expiry is for what no server can be asked, as long as it is not 2038.
func Expiry(ttl time.Duration, now time.Time) int32 { return expiry(ttl, now) }
