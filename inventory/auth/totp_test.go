package auth_test

import (
	"encoding/base32"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// TestTOTP checks the codes of RFC 6238, appendix B, of which authenticator apps show the last six
// digits.
func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if code, err := auth.TOTPCode(secret, time.Unix(at, 0)); code != want || err != nil {
			t.Errorf("the code at %d is %s, %v, want %s", at, code, err, want)
		}
	}
	if _, err := auth.TOTPCode("no base32!", time.Unix(0, 0)); err == nil {
		t.Error("a damaged secret has a code")
	}
}

// TestCheckTOTP checks that a code is accepted in its period and one before and after it, and once.
func TestCheckTOTP(t *testing.T) {
	t.Parallel()
	secret := auth.NewTOTPSecret()
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	code, err := auth.TOTPCode(secret, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		after time.Duration
		want  bool
	}{
		{-31 * time.Second, false},
		{-30 * time.Second, true},
		{0, true},
		{29 * time.Second, true},
		{59 * time.Second, true},
		{60 * time.Second, false},
	} {
		step, ok := auth.CheckTOTP(secret, code, start.Add(row.after), 0)
		if ok != row.want {
			t.Errorf("%v after its start the code is accepted: %v", row.after, ok)
		}
		if !ok {
			continue
		}
		if _, again := auth.CheckTOTP(secret, code, start.Add(row.after), step); again {
			t.Errorf("%v after its start the code works twice", row.after)
		}
		if _, ok := auth.CheckTOTP(secret, code, start.Add(row.after), step-1); !ok {
			t.Errorf("%v after its start an earlier code voids this one", row.after)
		}
	}
	if _, ok := auth.CheckTOTP(secret, " "+code[:3]+" "+code[3:], start, 0); !ok {
		t.Error("a code with spaces is refused")
	}
	for _, bad := range []string{"", code[:5], code + "0", "-" + code[1:], "+" + code[1:], strings.Repeat("9", 100)} {
		if _, ok := auth.CheckTOTP(secret, bad, start, 0); ok && bad != code {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, ok := auth.CheckTOTP("", code, start, 0); ok {
		t.Error("a code of no secret is accepted")
	}
}

func TestTOTPURL(t *testing.T) {
	t.Parallel()
	const want = "otpauth://totp/Lab%20Berlin:jane@example.org?issuer=Lab%20Berlin&secret=ABC"
	got := auth.TOTPURL("ABC", "Lab Berlin", "jane@example.org")
	if got != want {
		t.Errorf("the URL is %s, want %s", got, want)
	}
	if u, err := url.Parse(got); err != nil || u.Query().Get("issuer") != "Lab Berlin" {
		t.Errorf("%s is read as %v, %v", got, u, err)
	}
}

// TestRecoveryCodes checks that each code works once and for its user only, as people type it.
func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes, stored := auth.NewRecoveryCodes("42")
	if len(codes) != auth.RecoveryCodes {
		t.Fatalf("there are %d codes", len(codes))
	}
	if _, ok := auth.UseRecoveryCode(stored, "43", codes[0]); ok {
		t.Error("a code works for another user")
	}
	for i, code := range codes {
		if strings.Contains(stored, code) || strings.Contains(stored, strings.ReplaceAll(code, "-", "")) {
			t.Errorf("the stored form reveals %s", code)
		}
		typed := []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", " ")}[i%3]
		left, ok := auth.UseRecoveryCode(stored, "42", typed)
		if !ok {
			t.Errorf("%s is refused", typed)
		}
		if _, again := auth.UseRecoveryCode(left, "42", code); again {
			t.Errorf("%s works twice", code)
		}
		stored = left
	}
	if _, ok := auth.UseRecoveryCode("", "42", ""); ok || stored != "" {
		t.Errorf("%q is left, and an empty code accepted: %v", stored, ok)
	}
}
