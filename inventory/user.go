package inventory

import "time"

// User is an account of the inventory.
//
// Password is what a client sends. It is never stored: the caller of [Inventory] stores its
// hash in PasswordHash. A higher Epoch invalidates all earlier tokens of the user.
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
	return describe[User](definition{name: "users", label: "User"})
}

// complete reports whether the user has a password hash and so needs no password.
func (u *User) complete() bool { return u.PasswordHash != "" }

// PermissionDenied returns the error for a caller who may not make a change.
func PermissionDenied() *Error {
	return &Error{Kind: Forbidden, Message: "Forbidden: You do not have permission to perform this action"}
}

// CheckOwnerChange refuses a change by the owner of a record to fields that only an admin
// may set. The error is [PermissionDenied] with these fields.
func CheckOwnerChange(before, after Record) error {
	r, err := described(after)
	if err != nil {
		return err
	}
	var fields []FieldError
	for _, f := range r.fields {
		if f.AdminOnly && !f.same(f.valueOrNil(before), f.valueOrNil(after)) {
			fields = append(fields, FieldError{f.Name, "may only be changed by an admin"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	e := PermissionDenied()
	e.Fields = fields
	return e
}

// IdempotencyRecord is the stored response to a request with an Idempotency-Key, which
// repeated requests get again. It is not visible to clients.
type IdempotencyRecord struct {
	Base
	Owner    string `json:"owner" field:"required,max=200"` // who sent the request
	Key      string `json:"key" field:"required,unique=owner,max=255"`
	Request  string `json:"request" field:"required,max=100"` // a hash, to detect another request with the same key
	Status   int64  `json:"status"`
	Location string `json:"location" field:"max=500"`
	Body     string `json:"body" field:"format=text"`
}

func idempotencyRecords() *Resource {
	return describe[IdempotencyRecord](definition{name: "receipts", label: "Idempotency record"})
}

// Secret is a key that the inventory generated for itself, such as the one that signs
// tokens. It is not visible to clients.
type Secret struct {
	Base
	Name  string `json:"name" field:"required,unique,max=100"`
	Value string `json:"value" field:"required,max=1000"`
}

func secrets() *Resource {
	return describe[Secret](definition{name: "secrets", label: "Secret"})
}
