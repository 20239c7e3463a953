package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

// ResetLifetime is the lifetime of a reset code (REFERENCE.md, 3.4).
const ResetLifetime = 15 * time.Minute

// resetCodeLength is the length of rand.Text: 26 characters of base32, 130 bits.
const resetCodeLength = 26

// Reset is the stored form of a requested password reset. It does not reveal the code.
type Reset struct {
	CodeHash  string    // its key: LookupReset of the code, 64 hexadecimal digits
	UserID    string    // the user
	Password  string    // digest of the hash of the password to replace, 64 hexadecimal digits
	ExpiresAt time.Time // UTC
}

// NewReset returns a code to mail to a user and its stored form. passwordHash is the user's stored
// hash: any change of it invalidates the code.
func NewReset(userID, passwordHash string, now time.Time) (code string, r Reset) {
	code = rand.Text()
	return code, Reset{
		CodeHash: digest("code", code), UserID: userID,
		Password: digest("password", userID, passwordHash), ExpiresAt: now.UTC().Add(ResetLifetime),
	}
}

// LookupReset returns the CodeHash of a code, or an error of the kind ResetInvalid for a malformed
// code. Case is ignored, because users may type codes.
func LookupReset(code string) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz234567"
	if len(code) != resetCodeLength || strings.Trim(code, letters) != "" {
		return "", badReset("malformed code")
	}
	return digest("code", strings.ToUpper(code)), nil
}

// Check returns an error of the kind ResetInvalid unless r may reset the password of the user with this
// id and stored hash now. Delete r in the transaction that changes the password, so that a code works
// once.
func (r *Reset) Check(userID, passwordHash string, now time.Time) error {
	if userID == "" || r.UserID != userID {
		return badReset("for another user")
	}
	sum := digest("password", userID, passwordHash)
	if subtle.ConstantTimeCompare([]byte(sum), []byte(r.Password)) != 1 {
		return badReset("the password was changed")
	}
	if !now.Before(r.ExpiresAt) {
		return badReset("expired")
	}
	return nil
}

// ResetNotFound returns the error for an unknown code. Clients see the same message for all codes.
func ResetNotFound() error { return badReset("unknown or used") }

// digest returns the SHA-256 of unambiguously separated parts in hexadecimal. A fast hash suffices for
// random codes and for password hashes.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func badReset(reason string) error {
	return &Error{Kind: ResetInvalid, Message: messageBadReset, Reason: reason}
}
