package redisstore

import (
	"strings"
	"sync/atomic"
)

// login is a way to read a setting of the form "password" or "username:password".
type login struct {
	username, password string
}

// auth is who to be, and which of the readings of the setting the server accepted
// last. Servers of one store share it.
type auth struct {
	logins []login
	good   atomic.Int32
}

// parseAuth reads the setting. The form is ambiguous if there is a colon: the text
// before the first may be a user, or all of it a password. Then both are tried, the
// user first. A text that begins with a colon names no user: the rest is the password.
func parseAuth(text string) *auth {
	user, password, colon := strings.Cut(text, ":")
	switch {
	case text == "":
		return &auth{logins: []login{{}}}
	case !colon:
		return &auth{logins: []login{{password: text}}}
	case user == "":
		return &auth{logins: []login{{password: password}, {password: text}}}
	}
	return &auth{logins: []login{{user, password}, {password: text}}}
}

// first is the login to try first, and second what else there is to try.
func (a *auth) first() (index int, l login) {
	index = int(a.good.Load())
	return index, a.logins[index]
}

func (a *auth) second(first int) (index int, l login, ok bool) {
	if len(a.logins) < 2 {
		return 0, login{}, false
	}
	index = 1 - first
	return index, a.logins[index], true
}

func (a *auth) accepted(index int) { a.good.Store(int32(index)) }
