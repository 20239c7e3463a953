package settings

// Tracing are the settings of traces, which are the same for all servers.
type Tracing struct {
	Enabled                                          bool
	Protocol                                         string // http or grpc
	ServiceName, ServiceNamespace, ServiceInstanceID string
	SamplingRate                                     float64 // 0 to 1
}

// Rows returns the rows of the settings.
func (t *Tracing) Rows(serviceName string) []Setting {
	return []Setting{
		{Group: "Tracing", Name: "TRACING_ENABLED", Default: "false", Doc: "export OTLP traces; the standard OTEL_EXPORTER_OTLP_* variables say where to", Value: Bool(&t.Enabled)},
		{Name: "TRACING_EXPORTER_PROTOCOL", Default: "http", Doc: "http or grpc", Value: OneOf(&t.Protocol, "http", "grpc")},
		{Name: "TRACING_SERVICE_NAME", Default: serviceName, Doc: "service name of the traces", Value: Text(&t.ServiceName)},
		{Name: "TRACING_SERVICE_NAMESPACE", Doc: "service namespace of the traces", Value: Text(&t.ServiceNamespace)},
		{Name: "TRACING_SERVICE_INSTANCE_ID", Doc: "service instance of the traces; empty: a random version 4 UUID", Value: Text(&t.ServiceInstanceID)},
		{Name: "TRACING_SAMPLING_RATE", Default: "1", Doc: "part of the traces that is exported, 0 to 1", Value: Float(&t.SamplingRate, From(0.0, 1))},
	}
}
