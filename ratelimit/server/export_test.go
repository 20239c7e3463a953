package server

// ServeDecisions is serveDecisions, for listeners that fail.
var ServeDecisions = (*Server).serveDecisions
