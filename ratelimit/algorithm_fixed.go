package ratelimit

// fixedWindow needs nothing of a store but Add: the key of a counter names its window.
var fixedWindow = algorithm{name: "fixed_window", windows: true, leasable: true}
