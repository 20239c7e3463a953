package auth

import "cmp"

// String returns a name for statistics, such as "expired".
func (k Kind) String() string {
	return cmp.Or(map[Kind]string{
		WeakPassword: "weak_password", ResetInvalid: "reset_invalid", TokenMissing: "no_token", TokenMalformed: "malformed",
		TokenForged: "forged", TokenExpired: "expired", TokenEarly: "early", TokenElsewhere: "elsewhere", TokenRevoked: "revoked",
		Forbidden: "forbidden", Busy: "busy", BadHash: "bad_hash",
	}[k], "other")
}
