package logins

import (
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/site"
)

// account is the data of the page of one's own account.
type account struct {
	User     site.Record
	Sessions []shownSession
	Must     bool // change the password first
	Problem  string
}

type shownSession struct {
	ID        string     `json:"id"`
	CreatedAt time.Time  `json:"created_at"`
	LastUsed  *time.Time `json:"last_used"`
	Address   string     `json:"address"`
	UserAgent string     `json:"user_agent"`
	Current   bool       `json:"current"`
}

// Browser returns the names of the browser and of the system, as far as the user agent has them.
func (s shownSession) Browser() string {
	find := func(names [][2]string) string {
		for _, n := range names {
			if strings.Contains(s.UserAgent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	// The first one counts: each also has the names of those that follow.
	browser := find([][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Safari/", "Safari"}})
	system := find([][2]string{{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case browser == "":
		return s.UserAgent
	case system == "":
		return browser
	}
	return browser + " on " + system
}

func showAccount(q *site.Request) error { return accountPage(q, http.StatusOK, "") }

func accountPage(q *site.Request, status int, problem string) error {
	data := account{Must: q.Sender.MustChangePassword, Problem: problem}
	if !data.Must {
		var err error
		if data.User, _, err = q.One("users", q.Sender.UserID); err != nil {
			return err
		}
		var all struct{ Data []shownSession }
		if err := q.Get("/users/"+q.Sender.UserID+"/sessions", nil, &all); err != nil {
			return err
		}
		data.Sessions = all.Data
	}
	return q.PageStatus(status, "account.html", "Your account", data)
}

func changePassword(q *site.Request) error {
	body := map[string]string{"current_password": q.R.PostFormValue("current"), "new_password": q.R.PostFormValue("password")}
	if q.R.PostFormValue("password") != q.R.PostFormValue("again") {
		return accountPage(q, http.StatusBadRequest, "The two new passwords differ: enter the same twice.")
	}
	_, err := q.Do(&site.Call{Method: http.MethodPut, Path: "/users/" + q.Sender.UserID + "/password", Body: body}, nil)
	if f, ok := site.AsFault(err); ok && f.Status != http.StatusUnauthorized {
		return accountPage(q, f.Status, f.Error())
	} else if ok {
		return accountPage(q, http.StatusBadRequest, f.Message)
	}
	if err != nil {
		return err
	}
	q.Forget() // the sessions have ended with the old password
	return q.Redirect("/signin?done=password")
}

func endSession(q *site.Request) error {
	_, err := q.Do(&site.Call{Method: http.MethodDelete, Path: "/users/" + q.Sender.UserID + "/sessions/" + q.R.PathValue("session")}, nil)
	if err != nil {
		return err
	}
	return q.Redirect("/account?done=ended")
}
