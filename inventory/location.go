package inventory

// Location is a place where devices are.
type Location struct {
	Base
	Name     string   `json:"name" field:"required,max=200,search,index"`
	City     string   `json:"city" field:"required,max=100,search,index"`
	Country  string   `json:"country" field:"required,max=100,search,index,counted"`
	Address  string   `json:"address" field:"required,max=300,search"`
	SiteCode string   `json:"site_code" field:"unique,max=50,search"`
	Timezone string   `json:"timezone" field:"format=timezone,max=64"`
	Lat      *float64 `json:"lat" field:"min=-90,max=90"`   // degrees north
	Lon      *float64 `json:"lon" field:"min=-180,max=180"` // degrees east
}

func locations() *Resource {
	return describe[Location](definition{name: "locations", label: "Location", write: roles(Admin)})
}

// check says whether a point has both of its numbers.
func (l *Location) check() []FieldError {
	switch {
	case l.Lat != nil && l.Lon == nil:
		return []FieldError{{"lon", "must be given together with lat"}}
	case l.Lon != nil && l.Lat == nil:
		return []FieldError{{"lat", "must be given together with lon"}}
	}
	return nil
}
