package watch

// WaitQuiet is exported for tests, because its times can't be tested through Dirs
// without waiting for them.
var WaitQuiet = waitQuiet
