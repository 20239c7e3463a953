// Command inventory-follow copies the changes of an inventory to a file, each once and in order, and
// continues where it was when it is started again, however it ended:
//
//	INVENTORY_TOKEN=... go run ./examples/inventory-follow -url http://localhost:3000 -file changes.ndjson
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/ashlar-go/ashlar/inventory/feed"
)

func main() {
	url := flag.String("url", "http://localhost:3000", "`address` of the inventory")
	file := flag.String("file", "changes.ndjson", "`file` of the changes, one on a line")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, *url, os.Getenv("INVENTORY_TOKEN"), *file); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "inventory-follow:", err)
		os.Exit(1)
	}
}

func follow(ctx context.Context, url, token, path string) error {
	file, since, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return feed.Follow(ctx, url, token, since, nil, func(c feed.Change) error {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		_, err = file.Write(append(line, '\n'))
		return err
	})
}

// open opens the file and returns the cursor of its last change. A line that was cut off is
// removed: its change comes again.
func open(path string) (file *os.File, since string, err error) {
	file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, "", err
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	end := bytes.LastIndexByte(all, '\n') + 1
	if end == 0 {
		return file, "0", file.Truncate(0)
	}
	begin := bytes.LastIndexByte(all[:end-1], '\n') + 1
	var last feed.Change
	if err := json.Unmarshal(all[begin:end], &last); err != nil {
		return nil, "", fmt.Errorf("%s: the last line is no change: %w", path, err)
	}
	return file, last.Cursor, file.Truncate(int64(end))
}
