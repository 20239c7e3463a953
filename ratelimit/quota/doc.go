// Package quota implements the rate limit quota service (RLQS), with which Envoy decides by itself: it reports what
// passed, and gets quotas in advance. The rules are those of a [ratelimit.Engine]:
//
//	quotas, err := quota.New(engine, nil)
//	defer quotas.Close()
//	quotas.Register(grpcServer)
//
// # Buckets and rules
//
// Envoy groups requests in buckets. A BucketId is a map, and a descriptor is a list: explain.Arrange arranges the entries so that
// they lead to a rule. Rules that work for the rate limit service work for quotas. A bucket without a rule and one with an
// unlimited rule let everything pass, as does shadow mode, in which requests are counted when they are reported.
//
// # How quotas are assigned
//
// The service claims hits by decisions of the engine, as a client of the rate limit service would that sends hits_addend. It
// assigns them to clients as tokens that do not come back, or has clients refuse. A client gets its demand until the
// report after the next; when little is left, clients get equal parts of half of it, once a second. What reports show to be
// unused goes to other clients, and what none needs is given back to the counter. The engine's statistics and TopKeys
// have what clients report, and not what is claimed for them; [Service.Assignments] lists what they have.
//
// # Why the limit holds
//
// A client can use what it was assigned last. It can also use what it was assigned before, until it gets that: until a
// report that comes Options.Delay or more after it was sent, or until the time of the older assignment has ended. So:
//
//   - An assignment is claimed before it is sent, in the window in which it is sent.
//   - When a window ends, what clients may still use is claimed in the next one too, that of clients that have left included.
//     Instances do that in the first 50 ms of a window, and only then claim more.
//   - Hits come back only when a report shows that they were not used and can't be any more. A client that leaves keeps
//     what it has, until its assignment ends: it is missing in that window.
//
// A server that crashes leaves what it had claimed for the next 6 seconds unused in that window.
//
// Beyond the limit are only: a client that lost the service goes on with its last assignment until its time has ended, which
// is known to the instances unless the service crashed too: then up to that much may pass in the first two seconds of the next window;
// a message that takes longer than Options.Delay lets a client use its last assignment on top, once; and
// clients that report less than they have let pass. Clocks of instances and of the counter store must agree to 50 ms.
//
// # Limits of the protocol
//
// Envoy 1.40 reports every 5 seconds, whatever its configuration says. A quota must last for so long, so a limit should be
// large: a limit per second gives clients about half of it, and small limits are better decided by the rate limit service.
// Reports do not say when requests passed, so those of the first report in a window count in it. A window after one that was not
// used up lets less pass, by up to what clients use between two reports: 90 % in the first full minute of TestHotBucket, 100 % later.
// A TokenBucket has no windows: in any time, what fits in the bucket and comes in that time and Options.TTL may pass.
// Limits of Concurrency can't be assigned: clients refuse everything.
//
// # Design notes
//
// A round of all buckets is made at the begin of each second, in which the engine is called for several buckets at the same
// time, and one for new buckets when they are reported. Buckets are separate requests to the engine, so that
// rules do not replace each other. Leases (Limit.Lease) do not hold for claims, which are made ahead themselves.
//
// A claim covers the demand of all clients of a server for 6 seconds more than they get at once: 100 clients that make a million
// decisions a second in 1,000 buckets, and report each second, take 151 messages a second and 300 commands of Redis together, at
// two servers (TestCost).
//
// The quota follows a rule that refuses everything in the same message. Otherwise Envoy gives a changed token bucket the share
// of tokens that was left of the last one, and an equal one the same tokens.
//
// Rejected: token buckets that are refilled, because they can't be bound to a window, and each change of a rate gives tokens. Renewing
// an assignment by repeating it: if it ended before, Envoy takes it for a new one.
package quota
