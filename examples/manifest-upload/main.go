// Manifest-upload validates the tool server manifests that clients send. It responds with all
// problems as JSON, each with line, column and a suggestion.
//
//	go run ./examples/manifest-upload
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
)

// refusal is an error response of package httpx with the problems.
type refusal struct {
	httpx.ErrorBody
	Problems manifest.Problems `json:"problems"`
}

type accepted struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Warnings manifest.Problems `json:"warnings,omitempty"`
}

func upload(w http.ResponseWriter, r *http.Request) error {
	text, err := httpx.ReadBody(r, 0)
	if err != nil {
		return err // 413 for a body over 1 MiB
	}
	doc, _ := manifest.Parse(text, nil) // the report includes its errors
	report := doc.Validate(nil)
	if !report.Valid() {
		status := http.StatusUnprocessableEntity
		if doc.Root() == nil {
			status = http.StatusBadRequest // not JSON
		}
		message := fmt.Sprintf("errors in the manifest: %d", report.Errors)
		return httpx.WriteJSON(w, status, refusal{httpx.ErrorBody{Status: "error", Message: message}, report.Problems})
	}
	server, err := doc.Server() // your program would store it here
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, accepted{server.Name, server.Version, report.Problems})
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /manifests", httpx.HandlerFunc(upload))
	return httpx.Standard(nil)(httpx.Mux(mux)) // a body may have 1 MiB, and so may a manifest
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8084", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	l, err := net.Listen("tcp", *addr)
	if err == nil {
		fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try a good manifest, and a bad one:\n\n"+
			"  curl -i http://%[1]s/manifests --data-binary @manifest/testdata/examples/local.json\n"+
			"  curl -i http://%[1]s/manifests -d '{\"name\":\"com.example/weather\",\"version\":\"^1.4.2\"}'\n\n", l.Addr())
		err = httpx.Serve(ctx, l, routes(), nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifest-upload:", err)
		os.Exit(1)
	}
}
