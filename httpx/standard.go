package httpx

import "log/slog"

// StandardOptions are the choices of [Standard]. Nil means the defaults.
type StandardOptions struct {
	// Log gets a record of each request. Default, when nil: slog.Default gets those of
	// panics and of answers from 500, and nothing else.
	Log *slog.Logger
	// Origins are the web origins that may use the service. Default, when nil: pages of
	// the service's own host.
	Origins *Origins
	// Clients says where requests come from, for the log. Default: from the peer.
	Clients *Clients
	// Limit holds requests to a rate, Check looks at what they bring: the layers of
	// other packages, which come at a place of their own. Either may be nil.
	Limit, Check Middleware
	// MaxBody is the most bytes a body may have. Default, when 0: [DefaultBodyLimit].
	MaxBody int64
	// Repeatable are the query parameters that may come more than once.
	// Default, when nil: sortby and tags.
	Repeatable []string
	// RequestID, Security and Gzip are the choices of those layers.
	RequestID *RequestIDOptions
	Security  *SecurityOptions
	Gzip      *GzipOptions
}

// Standard is the chain that the services of this module stand behind. From the
// outside, with the reason why each layer comes before the next:
//
//	ResponseTime     first, so that the time is that of everything, and on every answer
//	RequestID        before all that logs, or answers with an id
//	AccessLog        outside of all that answers, to see what was sent
//	SecurityHeaders  before the first layer that may answer
//	Gzip             outside of Recover: the answer to a panic is one like any other,
//	                 and the log counts the bytes that were sent
//	Recover          outside of all that may panic
//	CORS             before the first refusal, or a page of an allowed origin could not
//	                 read it; and before Limit, as preflights are not counted
//	Limit            before all that costs; before Protect, so that refused pages are
//	                 counted and told about the limit as well
//	Protect          before anything is read
//	SingleParams     before Check, which reads the query
//	BodyLimit        before the first layer that reads a body
//	Check            last: what the handler gets has been seen
//
// Each of them is a layer by itself, fit for any router; a service with other needs
// writes its own [Chain].
func Standard(opts *StandardOptions) Middleware {
	o := StandardOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Repeatable == nil {
		o.Repeatable = []string{"sortby", "tags"}
	}
	if o.Origins == nil {
		o.Origins, _ = NewOrigins(nil) // nothing in it can be wrong
	}
	return Chain(
		ResponseTime,
		RequestID(o.RequestID),
		AccessLog(o.Log, &AccessLogOptions{Clients: o.Clients, OnlyFailures: o.Log == nil}),
		SecurityHeaders(o.Security),
		Gzip(o.Gzip),
		Recover(o.Log),
		o.Origins.CORS,
		o.Limit,
		o.Origins.Protect,
		SingleParams(o.Repeatable...),
		BodyLimit(o.MaxBody),
		o.Check,
	)
}
