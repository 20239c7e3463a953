package inventory

import (
	"errors"
	"strconv"
	"strings"
)

// maxMbps is a thousand terabits a second.
const maxMbps = 1_000_000_000

// ParseSpeed reads a speed such as 10Gbps, 2.5 Gbps, 100Mbps or 1.6Tbps, in upper or lower
// case, and returns it in Mbps: a whole number from 1 to 1,000,000,000. The error says what
// would be right.
func ParseSpeed(s string) (mbps int64, err error) {
	number, places := cutUnit(s)
	if places < 0 || len(number) > 16 {
		return 0, errSpeed()
	}
	whole, fraction, point := strings.Cut(number, ".")
	if point && fraction == "" || len(fraction) > places {
		return 0, errSpeed()
	}
	digits := whole + fraction + strings.Repeat("0", places-len(fraction))
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || whole == "" || n < 1 || n > maxMbps {
		return 0, errSpeed()
	}
	return int64(n), nil
}

func errSpeed() error {
	return errors.New("must be a number and a unit, such as 10Gbps, 2.5Gbps or 100Mbps")
}

// cutUnit returns the number before the unit, and by how many decimal places the unit
// is larger than one Mbps; -1 for none of the units.
func cutUnit(s string) (number string, places int) {
	s = strings.ToLower(s)
	for i, unit := range []string{"mbps", "gbps", "tbps"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			return strings.TrimRight(number, " "), 3 * i
		}
	}
	return "", -1
}

// FormatSpeed is the form in which speeds are kept: in Gbps from 1000 Mbps on, in Mbps
// below, as in 10Gbps, 2.5Gbps and 100Mbps.
func FormatSpeed(mbps int64) string {
	if mbps < 1000 {
		return strconv.FormatInt(mbps, 10) + "Mbps"
	}
	whole := strconv.FormatInt(mbps/1000, 10)
	if rest := mbps % 1000; rest != 0 {
		whole += "." + strings.TrimRight(strconv.FormatInt(1000+rest, 10)[1:], "0")
	}
	return whole + "Gbps"
}
