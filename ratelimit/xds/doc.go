// Package xds reads rate limit configuration from an aggregated discovery server, the
// source that CONFIG_TYPE=GRPC_XDS_SOTW selects (REFERENCE.md, 7.4).
//
//	client, err := xds.New("config.internal:18000", &xds.Options{NodeID: "edge"})
//	if err != nil {
//		return err
//	}
//	client.Run(ctx, func(u *xds.Update) error {
//		return engine.Use(u.Ruleset)
//	}, nil)
//
// The client opens one stream, identifies its node and requests all resources of type
// [TypeURL], each of which is one domain. Each response is the whole configuration: a
// domain that is missing from it is removed, and an empty response is a configuration
// without domains.
//
// A response is acknowledged when it is in use. A resource with a fault is not used: the last
// one with its name that could be used stays in use, and so do those that are missing from a
// response with a resource that can't be decoded. The other resources of the response take
// effect. The response is rejected nevertheless, with all faults in the error detail, because
// the protocol has no acknowledgement in part; the version in use, for the server, is the last
// one without faults. With [Options].Strict a response with a fault has no effect. The stream
// goes on in both cases.
//
// # Accepted resources
//
// The rules are those of configuration files, validated by the same [ratelimit.Compile]
// with the same messages. A fault names the resource and the path of the field instead of
// file and line:
//
//	mongo: descriptors[0].rate_limit.unit: invalid rate limit unit '': use second, minute, hour, day, week, month or year
//
// The current resource type has the fields quota_mode (7) and metadata (8) of a descriptor and
// the units MONTH (5), YEAR (6) and WEEK (7), which the released Go package lacks: all fields are
// read from the wire. Fields with unknown numbers are ignored with a warning. A missing number is 0 in the
// type, so there is no warning about a missing requests_per_unit.
//
// # Fields of this module
//
// A control plane can send every field that a file can have: those that the resource type lacks have
// numbers above 1000 (REFERENCE.md, 7.1), in RateLimitPolicy or in RateLimitDescriptor. In Go:
//
//	field := protowire.AppendTag(nil, xds.FieldNumber("unit_multiplier"), protowire.VarintType)
//	policy.ProtoReflect().SetUnknown(protowire.AppendVarint(field, 15))
//
// # Failures
//
// When the stream ends or can't be opened, the client waits and tries again until its
// context ends; [Backoff] is the schedule. Each attempt makes a new connection, so that
// addresses are resolved and client certificates are read again.
//
// A silent server is pinged after five minutes. A response longer than
// [Options].MaxMessageBytes ends the stream like any other failure; the error names the
// setting.
//
// # Design notes
//
// The stream loop is our own. The client of the control plane library is not shorter, and
// it hides the version and type of responses, forgets the last version when the stream
// ends, and sends rejections without a code.
//
// The first request of a new stream has the last accepted version and no nonce, as the
// protocol requires: nonces belong to a stream, versions do not. The server need not send
// what the client has. What it sends is loaded even if the version is the same, because a
// restarted control plane may count from 1 again.
//
// Some servers respond to a rejection with the rejected update at once. Therefore the
// first rejection is sent without delay, and further ones after 100 ms, doubled each time
// up to Backoff.Initial. A repeated rejection is reported once.
//
// XDS_CLIENT_BACKOFF_RANDOM_FACTOR is documented as the multiplier for the next interval,
// with the default 0.5. Taken literally, waits would shrink; in the reference service they
// stay at the minimum. Here it is the growth: 0.5 makes each wait half as long again.
//
// CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL replaces the first wait until the server
// was reached once: a service without a configuration rejects every call, so it tries more
// often than one that has a configuration.
//
// The resources of a response have no order. They are sorted by name, like files, so that
// merged domains do not depend on the order of a response.
//
// Run returns no error, because it ends only with its context. It keeps no state between
// calls, because the next call may be for another engine.
package xds
