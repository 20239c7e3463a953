package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // #nosec G505 -- RFC 6238, and what authenticator apps use; HMAC needs no resistance to collisions
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	// TOTPPeriod is the time for which a code of a second factor is shown (RFC 6238). A code is accepted in the
	// period before and after its own too, for clocks that differ.
	TOTPPeriod = 30 * time.Second
	// totpDigits is the number of digits of a code.
	totpDigits = 6
	// RecoveryCodes is the number of recovery codes of a user.
	RecoveryCodes = 10

	totpModulus     = 1_000_000 // 10 to the power of totpDigits
	totpSecretBytes = 20        // RFC 4226, section 4, R6
	totpSkew        = 1         // periods
	recoveryBytes   = 10
)

// NewTOTPSecret returns a random secret for an authenticator app: 160 bits in base32.
func NewTOTPSecret() string { return randomBase32(totpSecretBytes) }

func randomBase32(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // never fails
	return unpadded().EncodeToString(random)
}

func unpadded() *base32.Encoding { return base32.StdEncoding.WithPadding(base32.NoPadding) }

// TOTPURL returns the otpauth:// URL of a secret, which authenticator apps read as a QR code. They show
// issuer and account.
func TOTPURL(secret, issuer, account string) string {
	q := url.Values{"secret": {secret}, "issuer": {issuer}}
	u := url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + strings.ReplaceAll(issuer, ":", " ") + ":" + account,
		RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20"), // apps show a plus as it is
	}
	return u.String()
}

// TOTPCode returns the code of a secret at a time. The error is that the secret is not base32.
func TOTPCode(secret string, at time.Time) (string, error) {
	key, err := unpadded().DecodeString(secret)
	if err != nil {
		return "", errors.New("auth: the secret of the second factor is not base32")
	}
	return totpAt(key, totpStep(at)), nil
}

func totpStep(at time.Time) int64 { return at.Unix() / int64(TOTPPeriod/time.Second) }

// totpAt returns the code of a step (RFC 4226, section 5.3).
func totpAt(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step) // never fails
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%totpModulus)
}

// IsTOTPCode reports whether text has the form of a code: totpDigits digits, and any spaces.
func IsTOTPCode(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	return len(text) == totpDigits && strings.Trim(text, "0123456789") == ""
}

// CheckTOTP reports whether a code is one of the secret around a time, of a step after the given one.
// It returns its step, which counts periods since 1970: store it in the transaction that accepts the
// code, and pass it the next time, so that a code works once.
func CheckTOTP(secret, code string, now time.Time, after int64) (step int64, ok bool) {
	key, err := unpadded().DecodeString(secret)
	if err != nil || len(key) == 0 || !IsTOTPCode(code) {
		return 0, false
	}
	code = strings.ReplaceAll(code, " ", "")
	current := totpStep(now)
	for s := current - totpSkew; s <= current+totpSkew; s++ {
		if subtle.ConstantTimeCompare([]byte(totpAt(key, s)), []byte(code)) == 1 && s > after {
			step, ok = s, true
		}
	}
	return step, ok
}

// NewRecoveryCodes returns RecoveryCodes codes of 80 random bits, to be shown once to a user, and their
// stored form, which does not reveal them: 649 bytes of text.
func NewRecoveryCodes(userID string) (codes []string, stored string) {
	sums := make([]string, RecoveryCodes)
	for i := range sums {
		text := randomBase32(recoveryBytes)
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		sums[i] = digest("recovery", userID, text)
	}
	return codes, strings.Join(sums, " ")
}

// UseRecoveryCode reports whether a code is one of the stored ones of a user, and returns what is
// stored of the others, for the transaction that accepts it. Case, spaces and hyphens are ignored.
func UseRecoveryCode(stored, userID, code string) (left string, ok bool) {
	sum := digest("recovery", userID, strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code)))
	var kept []string
	for known := range strings.FieldsSeq(stored) {
		if subtle.ConstantTimeCompare([]byte(known), []byte(sum)) == 1 {
			ok = true
			continue
		}
		kept = append(kept, known)
	}
	return strings.Join(kept, " "), ok
}
