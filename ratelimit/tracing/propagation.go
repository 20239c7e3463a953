package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/contrib/propagators/b3"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
)

// propagators reads in this order, and what comes later wins.
func propagators() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(b3.New(), propagation.TraceContext{}, quietBaggage{})
}

// quietBaggage is the baggage propagator without its report of what a client sent
// malformed, which would go to the library's global handler. What is well-formed of
// such a header is kept, as the propagator does.
type quietBaggage struct{ propagation.Baggage }

// Extract reads the header baggage.
func (quietBaggage) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	const header = "baggage"
	value := carrier.Get(header)
	if several, ok := carrier.(propagation.ValuesGetter); ok {
		value = strings.Join(several.Values(header), ",")
	}
	if value == "" {
		return ctx
	}
	bag, _ := baggage.Parse(value) // refuses what is longer than 8,192 bytes
	if bag.Len() == 0 {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, bag)
}
