// Package ratelimit decides whether a request is within its limits.
package ratelimit
