// Package server composes a whole rate limit server from settings: configuration
// files, counters, engine, the gRPC and HTTP listeners, health and shutdown. It is
// what ratelimitd runs, and it embeds as a whole:
//
//	s, err := settings.Parse(environ)
//	...
//	err = server.Run(ctx, s, nil) // until ctx ends
//
// A program that wants a part of it takes the parts: package service mounts in
// any gRPC server and router.
//
// Listeners: gRPC with the v3 rate limit service and gRPC health; HTTP with POST
// /json and GET /healthcheck.
//
// # Design notes
//
// Run owns every goroutine it starts and returns when all have ended. Addresses
// are told to a callback rather than returned, because with port 0 they are known
// only while the server runs.
//
// When ctx ends, health turns unhealthy at once and everything else goes on for
// the drain delay, so that balancers have time to look elsewhere; then calls
// under way may finish, up to a deadline. Health watches are ended by us: their
// clients never would (ruling 11).
//
// Listeners do not share their port with another process. Two servers that by
// mistake split the traffic of one address are worse than one that does not start.
package server
