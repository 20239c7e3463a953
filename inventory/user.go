package inventory

import "time"

// User is somebody who may use the inventory.
//
// Password is what a client sends, and is never kept: whoever takes it puts its hash into
// PasswordHash. Epoch goes up when tokens that were given out are to lose their force.
type User struct {
	Base
	Username       string `json:"username" field:"required,unique,max=100,search"`
	Email          string `json:"email" field:"required,unique,format=email,max=254,search"`
	Password       string `json:"password,omitempty" field:"secret,oncreate,min=8,max=1024"`
	Role           Role   `json:"role" field:"required,admin,counted"`
	InactiveStatus bool   `json:"inactive_status" field:"admin,counted"`
	FirstName      string `json:"first_name" field:"max=100,search"`
	LastName       string `json:"last_name" field:"max=100,search"`

	PasswordChangedAt *time.Time `json:"password_changed_at" field:"readonly"`
	LastLogin         *time.Time `json:"last_login" field:"readonly"`

	PasswordHash   string     `json:"-" field:"hidden,column=password_hash"`
	Epoch          int64      `json:"-" field:"hidden,column=epoch"`
	ResetHash      string     `json:"-" field:"hidden,column=reset_hash"`
	ResetExpiresAt *time.Time `json:"-" field:"hidden,column=reset_expires_at"`
}

func users() *Resource {
	return describe[User](definition{name: "users", label: "User", read: roles(Admin), write: roles(Admin), owned: true})
}

// settled reports whether the password has become a hash.
func (u *User) settled() bool { return u.PasswordHash != "" }
