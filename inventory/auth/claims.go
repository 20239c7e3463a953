package auth

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Identity is who somebody is, as far as a token says it.
type Identity struct {
	UserID   string // claims uid and sub; not empty
	Username string // claim user
	Role     Role   // claim role; one of Roles
	// Epoch is the user's at the time: claim epoch. It goes up with everything that
	// must end the user's tokens, such as a logout or a new password; see Guard.
	Epoch int64
}

// fault is what is wrong with i, "" if nothing is.
func (i *Identity) fault() string {
	switch {
	case i.UserID == "":
		return "no user id"
	case !i.Role.Valid():
		return "the role is none of admin, editor, viewer"
	case i.Epoch < 0:
		return "the epoch is negative"
	}
	return ""
}

// Claims is what a verified token says. Its issuer and audience are those of the
// Tokens that verified it. The times are UTC, in whole seconds.
type Claims struct {
	Identity
	ID                             string // claim jti, 130 random bits as text
	IssuedAt, NotBefore, ExpiresAt time.Time
}

// wire is the payload of a token. The first three names are those of the
// reference service.
type wire struct {
	UserID   string `json:"uid"`
	Username string `json:"user"`
	Role     Role   `json:"role"`
	Epoch    int64  `json:"epoch"`
	jwt.RegisteredClaims
}

// wire is c as it is signed.
func (t *Tokens) wire(c *Claims) *wire {
	return &wire{
		UserID: c.UserID, Username: c.Username, Role: c.Role, Epoch: c.Epoch,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: t.issuer, Subject: c.UserID, Audience: jwt.ClaimStrings{t.audience}, ID: c.ID,
			IssuedAt:  jwt.NewNumericDate(c.IssuedAt),
			NotBefore: jwt.NewNumericDate(c.NotBefore),
			ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
	}
}

// claims is w for the caller. All parts are there once w is valid.
func (w *wire) claims() *Claims {
	return &Claims{
		Identity: w.identity(), ID: w.ID,
		IssuedAt: w.IssuedAt.UTC(), NotBefore: w.NotBefore.UTC(), ExpiresAt: w.ExpiresAt.UTC(),
	}
}

func (w *wire) identity() Identity {
	return Identity{UserID: w.UserID, Username: w.Username, Role: w.Role, Epoch: w.Epoch}
}

// Validate is called by the parser, beside its own checks, on claims whose
// signature is good.
func (w *wire) Validate() error {
	id := w.identity()
	switch reason := id.fault(); {
	case reason != "":
		return errors.New(reason)
	case w.Subject != w.UserID:
		return errors.New("sub is not uid")
	case w.ID == "":
		return errors.New("no jti")
	case w.IssuedAt == nil:
		return errors.New("no iat")
	}
	return nil
}
