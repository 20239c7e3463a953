package demo

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// city is where sites are. Its code is that of its airport or the like.
type city struct {
	code, name, country, zone string
	lat, lon                  float64
}

var cities = [...]city{
	{"ber", "Berlin", "Germany", "Europe/Berlin", 52.52, 13.41},
	{"lon", "London", "United Kingdom", "Europe/London", 51.51, -0.13},
	{"par", "Paris", "France", "Europe/Paris", 48.86, 2.35},
	{"ams", "Amsterdam", "Netherlands", "Europe/Amsterdam", 52.37, 4.90},
	{"fra", "Frankfurt am Main", "Germany", "Europe/Berlin", 50.11, 8.68},
	{"nyc", "New York", "United States", "America/New_York", 40.71, -74.01},
	{"chi", "Chicago", "United States", "America/Chicago", 41.88, -87.63},
	{"sjc", "San Jose", "United States", "America/Los_Angeles", 37.34, -121.89},
	{"sin", "Singapore", "Singapore", "Asia/Singapore", 1.35, 103.82},
	{"tyo", "Tokyo", "Japan", "Asia/Tokyo", 35.68, 139.69},
	{"muc", "Munich", "Germany", "Europe/Berlin", 48.14, 11.58},
	{"ham", "Hamburg", "Germany", "Europe/Berlin", 53.55, 9.99},
	{"vie", "Vienna", "Austria", "Europe/Vienna", 48.21, 16.37},
	{"zrh", "Zurich", "Switzerland", "Europe/Zurich", 47.38, 8.54},
	{"mil", "Milan", "Italy", "Europe/Rome", 45.46, 9.19},
	{"rom", "Rome", "Italy", "Europe/Rome", 41.90, 12.50},
	{"mad", "Madrid", "Spain", "Europe/Madrid", 40.42, -3.70},
	{"bcn", "Barcelona", "Spain", "Europe/Madrid", 41.39, 2.17},
	{"lis", "Lisbon", "Portugal", "Europe/Lisbon", 38.72, -9.14},
	{"bru", "Brussels", "Belgium", "Europe/Brussels", 50.85, 4.35},
	{"dub", "Dublin", "Ireland", "Europe/Dublin", 53.35, -6.26},
	{"man", "Manchester", "United Kingdom", "Europe/London", 53.48, -2.24},
	{"cph", "Copenhagen", "Denmark", "Europe/Copenhagen", 55.68, 12.57},
	{"sto", "Stockholm", "Sweden", "Europe/Stockholm", 59.33, 18.07},
	{"osl", "Oslo", "Norway", "Europe/Oslo", 59.91, 10.75},
	{"hel", "Helsinki", "Finland", "Europe/Helsinki", 60.17, 24.94},
	{"waw", "Warsaw", "Poland", "Europe/Warsaw", 52.23, 21.01},
	{"prg", "Prague", "Czechia", "Europe/Prague", 50.08, 14.44},
	{"bud", "Budapest", "Hungary", "Europe/Budapest", 47.50, 19.04},
	{"buh", "Bucharest", "Romania", "Europe/Bucharest", 44.43, 26.10},
	{"sof", "Sofia", "Bulgaria", "Europe/Sofia", 42.70, 23.32},
	{"ath", "Athens", "Greece", "Europe/Athens", 37.98, 23.73},
	{"ist", "Istanbul", "Türkiye", "Europe/Istanbul", 41.01, 28.98},
	{"tlv", "Tel Aviv", "Israel", "Asia/Jerusalem", 32.09, 34.78},
	{"dxb", "Dubai", "United Arab Emirates", "Asia/Dubai", 25.20, 55.27},
	{"bom", "Mumbai", "India", "Asia/Kolkata", 19.08, 72.88},
	{"blr", "Bengaluru", "India", "Asia/Kolkata", 12.97, 77.59},
	{"bkk", "Bangkok", "Thailand", "Asia/Bangkok", 13.76, 100.50},
	{"kul", "Kuala Lumpur", "Malaysia", "Asia/Kuala_Lumpur", 3.14, 101.69},
	{"jkt", "Jakarta", "Indonesia", "Asia/Jakarta", -6.21, 106.85},
	{"hkg", "Hong Kong", "Hong Kong", "Asia/Hong_Kong", 22.32, 114.17},
	{"tpe", "Taipei", "Taiwan", "Asia/Taipei", 25.03, 121.57},
	{"sel", "Seoul", "South Korea", "Asia/Seoul", 37.57, 126.98},
	{"osa", "Osaka", "Japan", "Asia/Tokyo", 34.69, 135.50},
	{"syd", "Sydney", "Australia", "Australia/Sydney", -33.87, 151.21},
	{"mel", "Melbourne", "Australia", "Australia/Melbourne", -37.81, 144.96},
	{"akl", "Auckland", "New Zealand", "Pacific/Auckland", -36.85, 174.76},
	{"jnb", "Johannesburg", "South Africa", "Africa/Johannesburg", -26.20, 28.05},
	{"nbo", "Nairobi", "Kenya", "Africa/Nairobi", -1.29, 36.82},
	{"los", "Lagos", "Nigeria", "Africa/Lagos", 6.52, 3.38},
	{"cai", "Cairo", "Egypt", "Africa/Cairo", 30.04, 31.24},
	{"yto", "Toronto", "Canada", "America/Toronto", 43.65, -79.38},
	{"yvr", "Vancouver", "Canada", "America/Vancouver", 49.28, -123.12},
	{"dal", "Dallas", "United States", "America/Chicago", 32.78, -96.80},
	{"atl", "Atlanta", "United States", "America/New_York", 33.75, -84.39},
	{"sea", "Seattle", "United States", "America/Los_Angeles", 47.61, -122.33},
	{"mex", "Mexico City", "Mexico", "America/Mexico_City", 19.43, -99.13},
	{"bog", "Bogotá", "Colombia", "America/Bogota", 4.71, -74.07},
	{"sao", "São Paulo", "Brazil", "America/Sao_Paulo", -23.55, -46.63},
	{"bue", "Buenos Aires", "Argentina", "America/Argentina/Buenos_Aires", -34.60, -58.38},
}

var streets = [...]string{"Harbour Street", "Telegraph Road", "Station Square", "Industrial Park", "Exchange Lane", "Canal Street"}

// site is a location while its devices are made.
type site struct {
	index   int
	code    string // such as ber1
	id      string
	devices int // how many it is to have

	numbers [len(roles)]int // of the last host of each role
	vlans   int             // how many there are already
}

// sites writes the locations. The first of each ten are the large ones.
func (n *network) sites(ctx context.Context) ([]*site, error) {
	all := make([]*site, n.plan.Locations)
	for i := range all {
		c, number := &cities[i%len(cities)], i/len(cities)+1
		s := &site{index: i, code: c.code + strconv.Itoa(number)}
		lat, lon := n.near(c.lat), n.near(c.lon)
		rec := &inventory.Location{
			Name: c.name + " " + strconv.Itoa(number), City: c.name, Country: c.country,
			Address:  strconv.Itoa(1+n.rng.IntN(200)) + " " + streets[n.rng.IntN(len(streets))],
			SiteCode: s.code, Timezone: c.zone, Lat: &lat, Lon: &lon,
		}
		if err := n.add(ctx, rec, n.now.Add(-history-24*time.Hour+time.Duration(i)*time.Second)); err != nil {
			return nil, err
		}
		s.id, all[i] = rec.ID, s
	}
	n.share(all)
	return all, nil
}

// near is a coordinate at most some kilometres away, with four places.
func (n *network) near(degrees float64) float64 {
	return math.Round(degrees*10_000+float64(n.rng.IntN(1001)-500)) / 10_000
}

// share gives each site its number of devices: even ones, so that their links come out even,
// but for the last site, which has what is left.
func (n *network) share(all []*site) {
	weights, total := make([]int, len(all)), 0
	for i := range all {
		weights[i] = 2 + n.rng.IntN(4)
		if i%10 == 0 {
			weights[i] *= 3
		}
		total += weights[i]
	}
	left := n.plan.Devices
	for i, s := range all {
		s.devices = n.plan.Devices * weights[i] / total &^ 1
		if i == len(all)-1 {
			s.devices = left
		}
		left -= s.devices
	}
}
