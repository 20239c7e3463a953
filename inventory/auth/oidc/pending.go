package oidc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

const (
	// cookieName is the name of the cookie with a login in progress.
	cookieName = "oidc_login"
	// PendingLifetime is the time that a login may take at the provider.
	PendingLifetime = 10 * time.Minute
	// KeyPurpose is the purpose of the keys of [Options] for jwt.Tokens.Derive.
	KeyPurpose = "oidc pending login"

	maxCookie = 4096
)

// pending is a login in progress.
type pending struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"` // of PKCE
	Expires  time.Time `json:"e"`
	ReturnTo string    `json:"r,omitempty"`
}

// cookie returns the cookie with a value, for the path of the callback.
func (p *Provider) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{ // #nosec G124 -- Secure unless the callback is on this machine, without TLS
		Name: cookieName, Value: value, Path: p.redirect.Path, MaxAge: maxAge,
		HttpOnly: true, Secure: p.redirect.Scheme == "https", SameSite: http.SameSiteLaxMode, // sent with a redirect of another site
	}
}

// seal encrypts a login in progress.
func (p *Provider) seal(login *pending) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as short as possible
	if err := encoder.Encode(login); err != nil {
		return "", err
	}
	keys := p.opts.Keys()
	if len(keys) == 0 {
		return "", errors.New("oidc: there are no keys")
	}
	aead, err := newAEAD(keys[0])
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, text.Bytes(), []byte(KeyPurpose))), nil
}

// open returns the login in progress of a request.
func (p *Provider) open(r *http.Request) (*pending, error) {
	sent, err := r.Cookie(cookieName)
	if err != nil {
		return nil, auth.Refused(messageNotBegun, "no cookie")
	}
	if len(sent.Value) > maxCookie {
		return nil, auth.Refused(messageNotBegun, "cookie too long")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(sent.Value)
	if err != nil {
		return nil, auth.Refused(messageNotBegun, "malformed cookie")
	}
	for _, key := range p.opts.Keys() {
		aead, err := newAEAD(key)
		if err != nil {
			return nil, err
		}
		if len(sealed) < aead.NonceSize() {
			break
		}
		text, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(KeyPurpose))
		if err != nil {
			continue // another key
		}
		login := &pending{}
		if err := json.Unmarshal(text, login); err != nil {
			return nil, err
		}
		if !p.opts.Now().Before(login.Expires) {
			return nil, auth.Refused(messageTooLate, "")
		}
		return login, nil
	}
	return nil, auth.Refused(messageNotBegun, "cookie of other keys")
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("oidc: a key must have 32 bytes")
	}
	return cipher.NewGCM(block)
}
