package watch

// Settle is the wait for quiet, whose times can't be tested from outside without
// waiting for them.
var Settle = settle
