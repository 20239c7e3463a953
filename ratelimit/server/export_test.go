package server

// ServeDecisions is serveDecisions, for listeners that fail.
var ServeDecisions = (*Server).serveDecisions

// KubernetesNames is kubernetesNames, for a file of the test.
var KubernetesNames = kubernetesNames

// TraceStore is traceStore.
var TraceStore = traceStore
