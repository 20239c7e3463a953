package auth

// kindNames are the names of kinds, for statistics.
func kindNames() map[Kind]string {
	return map[Kind]string{
		WeakPassword: "weak_password", ResetInvalid: "reset_invalid", TokenMissing: "no_token", TokenMalformed: "malformed",
		TokenForged: "forged", TokenExpired: "expired", TokenEarly: "early", TokenElsewhere: "elsewhere", TokenRevoked: "revoked",
		Forbidden: "forbidden", Busy: "busy", BadHash: "bad_hash",
	}
}

// String returns a name for statistics, such as "expired".
func (k Kind) String() string {
	if name, ok := kindNames()[k]; ok {
		return name
	}
	return "other"
}
