// Package xds takes rate limit configuration from an aggregated discovery server,
// the source that CONFIG_TYPE=GRPC_XDS_SOTW selects (specification, "Configuration
// sources"; reference 1.16).
//
//	client, err := xds.New("config.internal:18000", &xds.Options{NodeID: "edge"})
//	if err != nil {
//		return err
//	}
//	client.Run(ctx, func(u *xds.Update) error {
//		engine.Use(u.Ruleset)
//		return nil
//	}, nil)
//
// The client opens one stream, names its node and asks for all resources of type
// [TypeURL], one of which is one domain. Each response is the whole configuration:
// what it lacks is gone, and an empty one is a configuration without domains.
//
// A response is acknowledged when it is in use. One with a fault in it is refused as
// a whole, with every fault in the error detail, and what was in use stays. Then the
// conversation goes on.
//
// # What is accepted
//
// The rules are those of configuration files, checked by the same [ratelimit.Compile]
// and refused in the same words. A fault names the resource and the path of the
// descriptor in place of file and line:
//
//	mongo: descriptors[0].rate_limit.unit: invalid rate limit unit 'UNKNOWN': use SECOND, MINUTE, HOUR or DAY
//
// The released resource type has fewer fields than a file: quota_mode, metadata,
// value_to_metric, share_threshold and the units week, month and year come from files
// only. A resource that has fields of a newer type gets a warning that names their
// numbers, and they are ignored. In the type a number that is missing is 0, so there
// is no warning about a rule without requests_per_unit.
//
// # Failures
//
// When the stream ends, or can't be opened, the client waits and tries again, for as
// long as its context lasts. [Backoff] says how long it waits. Each attempt makes a
// connection of its own, so addresses are looked up and client certificates are asked
// for again.
//
// A server from which nothing comes is asked for a sign of life, see
// Options.KeepaliveTime. A message over Options.MaxMessageBytes breaks the stream like
// any other failure; the error names the setting.
//
// # Design notes
//
// The stream loop is our own. The client of the control plane's library is as long,
// but it hides the response's version and type, forgets the last version when the
// stream breaks, and sends a refusal without a code.
//
// The first request of a new stream has the version that was accepted last, and no
// nonce, as the protocol wants it: nonces belong to a stream, versions don't. A server
// may keep back what the client has. What it does send is put to use even if the
// version is the same, because a control plane that has been restarted may count from
// 1 again.
//
// Some servers answer a refusal at once with what was refused. So the first refusal
// goes out without delay and those that follow it are held back, 100 ms at first and
// twice as long each time, up to Backoff.Initial. The same fault is reported once.
//
// XDS_CLIENT_BACKOFF_RANDOM_FACTOR is called the multiplier for the next interval, and
// is 0.5: taken literally, waits would shrink, and in the reference service they stay
// at the minimum. Here it is what is added: 0.5 makes each wait half as long again.
// That grows for every factor, and more for a greater one. The backoff library that
// others use was turned down: its jitter passes the maximum, and its schedule can't be
// asked without being advanced.
//
// CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL takes the place of the initial wait
// until the server has been reached once. A service that starts before its control
// plane has no rules and refuses every call, so it asks more often than one that has
// rules to go on with. These waits grow as well.
//
// The resources of a response come in no order. They are sorted by name, like files,
// so that with merged domains the same configuration always means the same.
//
// Turned down: an error from Run, which ends only with its context; and state between
// two calls of it, since the second may be for another engine.
package xds
