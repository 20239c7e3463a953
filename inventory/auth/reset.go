package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

// ResetLifetime is how long a reset code is good for; reference, ruling 13.
const ResetLifetime = 15 * time.Minute

// resetCodeLength is that of rand.Text: 26 characters of base32, 130 bits.
const resetCodeLength = 26

// Reset is what to store of a password reset that was asked for. There is no way
// from it back to the code.
type Reset struct {
	CodeHash  string    // what to find it by: LookupReset of the code, 64 hexadecimal digits
	UserID    string    // whose password it resets
	Password  string    // mark of the password that it replaces, 64 hexadecimal digits
	ExpiresAt time.Time // UTC
}

// NewReset returns a code to mail to a user, and what to store. passwordHash is the
// user's stored hash: once it changes, by whatever way, the code is void.
func NewReset(userID, passwordHash string, now time.Time) (code string, r Reset) {
	code = rand.Text()
	return code, Reset{
		CodeHash: digest("code", code), UserID: userID,
		Password: digest("password", userID, passwordHash), ExpiresAt: now.UTC().Add(ResetLifetime),
	}
}

// LookupReset returns the CodeHash of the Reset that code belongs to, or an error of
// the kind ResetInvalid for what is no code in form. Case does not matter: people
// type codes from mails.
func LookupReset(code string) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz234567"
	if len(code) != resetCodeLength || strings.Trim(code, letters) != "" {
		return "", badReset("not a code")
	}
	return digest("code", strings.ToUpper(code)), nil
}

// Check returns nil if r may reset the password of the user with that id and stored
// hash now, and else an error of the kind ResetInvalid. Whoever stores Resets deletes it in
// the same transaction that changes the password, so that it serves once.
func (r *Reset) Check(userID, passwordHash string, now time.Time) error {
	if userID == "" || r.UserID != userID {
		return badReset("for another user")
	}
	mark := digest("password", userID, passwordHash)
	if subtle.ConstantTimeCompare([]byte(mark), []byte(r.Password)) != 1 {
		return badReset("the password has changed since")
	}
	if !now.Before(r.ExpiresAt) {
		return badReset("its time is up")
	}
	return nil
}

// ResetNotFound is the error for a code that nothing is stored of. It is the same for
// the client as any other about a code.
func ResetNotFound() error { return badReset("unknown or used") }

// digest is SHA-256 over parts that can't run into each other, in hexadecimal. The codes
// are random enough for a fast hash; and the hash of a password is one already.
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
