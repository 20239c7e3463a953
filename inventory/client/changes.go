package client

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/inventory/feed"
)

// Changes follows the changes of resources, such as devices, or without names those of all that the token may read. Each
// comes once and in the order in which they were committed. since is the Cursor of a change that was handled before, or
// one of [Client.Cursor]; "" is from now on, and "0" all that are kept. After a failure of the server or of the network
// it connects again, and continues; the iterator ends when the loop does, or with an error: that of ctx, or an [*Error].
// One with the Status 410 says that the changes after the cursor are no longer kept: start over as in the package comment.
func (c *Client) Changes(ctx context.Context, since string, resources ...string) iter.Seq2[feed.Change, error] {
	return func(yield func(feed.Change, error) bool) {
		endless := *c.opts.HTTP
		endless.Timeout = 0
		opts := &feed.Options{Resources: resources, Client: &endless, MaxBackoff: c.opts.MaxWait, Log: slog.New(slog.DiscardHandler)}
		errEnough := errors.New("the loop has ended")
		err := feed.Follow(ctx, c.base.String(), c.opts.Token, since, opts, func(change feed.Change) error {
			if !yield(change, nil) {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			yield(feed.Change{}, feedError(err))
		}
	}
}

// Cursor returns the position after the last change, for [Client.Changes].
func (c *Client) Cursor(ctx context.Context) (string, error) {
	var page struct{ Next string }
	err := c.Do(ctx, http.MethodGet, "/changes", url.Values{"limit": {"1"}}, nil, &page)
	return page.Next, err
}

// feedError returns an error of a feed as one of the client.
func feedError(err error) error {
	failed := &Error{Method: http.MethodGet, Path: "/changes"}
	if gone, ok := errors.AsType[*feed.GoneError](err); ok {
		failed.Status, failed.Code, failed.Message = http.StatusGone, "gone", gone.Message
		return failed
	}
	if refused, ok := errors.AsType[*feed.StatusError](err); ok {
		failed.Status, failed.Code, failed.Message = refused.Status, errcode.OfStatus(refused.Status), refused.Message
		return failed
	}
	return err
}
