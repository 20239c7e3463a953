package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

type program struct{ db *sql.DB }

// Authenticate implements [httpapi.Authenticator] with the users of the program, for the API and the console.
func (p *program) Authenticate(r *http.Request) (*auth.Identity, error) {
	_, key, _ := r.BasicAuth()
	hash := sha256.Sum256([]byte(key))
	who := &auth.Identity{}
	err := p.db.QueryRowContext(r.Context(), "SELECT name, role FROM users WHERE key_hash = ?", hex.EncodeToString(hash[:])).Scan(&who.Username, &who.Role)
	if errors.Is(err, sql.ErrNoRows) {
		header := http.Header{"Www-Authenticate": {"Basic"}} // browsers ask for the key
		return nil, &httpx.Error{Status: http.StatusUnauthorized, Message: "Send your API key as the password", Header: header}
	}
	if who.UserID = who.Username; who.Role == finance {
		who.Scopes = []string{"devices:read"} // and nothing else of the inventory
	}
	return who, err
}

// addContract handles POST /contracts, with the fields of a form. One statement reads the device and adds the contract,
// so that the device is not deleted in between.
func (p *program) addContract(w http.ResponseWriter, r *http.Request) error {
	who, err := p.Authenticate(r)
	if err != nil {
		return err
	}
	if who.Role != finance && who.Role != auth.Admin {
		return httpx.Errorf(http.StatusForbidden, "Your role may not change contracts")
	}
	result, err := p.db.ExecContext(r.Context(), "INSERT INTO contracts (device_id, hostname, customer, ends) SELECT id, hostname, ?, ? FROM inventory_devices WHERE id = ?",
		r.PostFormValue("customer"), r.PostFormValue("ends"), r.PostFormValue("device_id"))
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = httpx.Errorf(http.StatusBadRequest, "device_id is not the id of a device")
	}
	if err == nil {
		w.WriteHeader(http.StatusCreated)
	}
	return err
}
