package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"log"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

type program struct{ db *sql.DB }

// Authenticate implements [httpapi.Authenticator] with the users of the program.
func (p *program) Authenticate(r *http.Request) (*auth.Identity, error) {
	hash := sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))
	who := &auth.Identity{}
	err := p.db.QueryRowContext(r.Context(), "SELECT name, role FROM users WHERE key_hash = ?", hex.EncodeToString(hash[:])).Scan(&who.Username, &who.Role)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &auth.Error{Kind: auth.TokenMissing, Message: "Set the header X-Api-Key to your API key"}
	}
	who.UserID = who.Username
	return who, err
}

// addContract handles POST /contracts, with the fields of a form. One statement reads the device and adds the contract,
// so that the device is not deleted in between.
func (p *program) addContract(w http.ResponseWriter, r *http.Request) {
	if _, err := p.Authenticate(r); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	result, err := p.db.ExecContext(r.Context(), "INSERT INTO contracts (device_id, hostname, customer, ends) SELECT id, hostname, ?, ? FROM inventory_devices WHERE id = ?",
		r.PostFormValue("customer"), r.PostFormValue("ends"), r.PostFormValue("device_id"))
	if err != nil {
		log.Print(err)
		http.Error(w, "The contract was not added: try again later", http.StatusInternalServerError)
		return
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		http.Error(w, "device_id is not the id of a device", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusCreated)
}
