package suggest

// Distance is exported for tests.
var Distance = distance
