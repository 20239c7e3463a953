package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

const signInPath = "/sign-in?code="

// here reports whether a request comes directly from this machine and names it by a local name. A
// header that proxies add tells that somebody else may have sent it.
func here(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || httpx.Forwarded(r.Header) {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// signIn answers a sign-in link: it leads to the console of the inventory, signed in as admin. Only the terminal shows the
// link, since every user of the machine can open the landing page.
func (h *home) signIn(w http.ResponseWriter, r *http.Request) error {
	if !here(r) {
		return httpx.Errorf(http.StatusForbidden, "Sign-in links work on the machine itself only, without a proxy")
	}
	if r.Method == http.MethodHead {
		return nil // a check of the link, which must not use it up
	}
	if _, ok := h.codes.Use(r.URL.Query().Get("code"), time.Now()); !ok {
		return httpx.Errorf(http.StatusGone, "The sign-in link was used or has expired: sign in as admin with the password in %s", h.addresses.passwordFile)
	}
	token, cookies, err := h.addresses.login(r.Context())
	if err != nil {
		return &httpx.Error{Status: http.StatusBadGateway, Message: "The inventory refused the login: " + err.Error(), Err: err}
	}
	for _, cookie := range cookies { // cookies are for all ports of a host
		w.Header().Add("Set-Cookie", cookie)
	}
	http.Redirect(w, r, origin(r, h.addresses.network)+h.systems.network.server.Console().Link(token), http.StatusSeeOther) // #nosec G710 -- Hosts has checked the host
	return nil
}

// signInURL returns the URL of a sign-in link.
func (p *addresses) signInURL(code string) string { return localURL(p.home) + signInPath + code }

// localURL returns the URL of a listener, without a path, with a name that works on this machine.
func localURL(a net.Addr) string {
	host, port, _ := net.SplitHostPort(a.String())
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// login returns a token of the inventory's admin, and the lines of Set-Cookie that hold it.
func (p *addresses) login(ctx context.Context) (token string, cookies []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]string{"username": "admin", "password": p.password})
	if err != nil {
		return "", nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.network.String()+"/users/login", bytes.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Token   string `json:"token"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", nil, fmt.Errorf("read the response with status %d: %w", response.StatusCode, err)
	}
	if answer.Token == "" {
		return "", nil, fmt.Errorf("%s; if the password of the admin was changed, use that", answer.Message)
	}
	return answer.Token, response.Header["Set-Cookie"], nil
}
