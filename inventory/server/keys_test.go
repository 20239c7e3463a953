package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// handled is a server without a listener.
type handled struct {
	t *testing.T
	*server.Server
	log *logtest.Log
}

func handle(t *testing.T, s *server.Settings, store records.Store) *handled {
	t.Helper()
	h := &handled{t: t, log: new(logtest.Log)}
	var err error
	h.Server, err = server.New(t.Context(), s, (&server.Options{Log: h.log.Logger(), Store: store}).Cheap())
	require.NoError(t, err)
	return h
}

func (h *handled) send(method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return w
}

func (h *handled) login() string {
	h.t.Helper()
	w := h.send("POST", "/users/login", "", `{"username":"admin","password":"`+password+`"}`)
	var response struct{ Token string }
	require.NoError(h.t, json.Unmarshal(w.Body.Bytes(), &response))
	require.NotEmpty(h.t, response.Token, w.Body.String())
	return response.Token
}

// TestRotateKey checks that running servers notice a rotation, accept the tokens of each other
// and of the old key throughout, and drop all tokens when the keys are revoked.
func TestRotateKey(t *testing.T) {
	for name, file := range map[string]string{"database": "", "file": filepath.Join(t.TempDir(), "jwt.key")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := records.NewMemStore(inventory.Schema())
				s := settings(t, map[string]string{"JWT_SECRET_FILE": file, "JWT_EXPIRATION": "1h"})
				servers := []*handled{handle(t, s, store), handle(t, s, store)}
				rotate := func(revoke bool) {
					if file != "" {
						_, err := server.RotateKey(t.Context(), s, revoke, nil)
						require.NoError(t, err)
						return
					}
					require.NoError(t, accounts.RotateSigningKey(t.Context(), store, func(set *auth.KeySet) (err error) {
						if revoke {
							set.Revoke()
						} else {
							_, _, err = set.Rotate(time.Now(), time.Hour)
						}
						return err
					}))
				}
				accepted := func(token string, want int) {
					t.Helper()
					for _, h := range servers {
						w := h.send("GET", "/devices", token, "")
						assert.Equal(t, want, w.Code, w.Body.String())
					}
				}
				first := servers[0].login()
				keys := read(t, file, store)
				rotate(false)
				for range 4 {
					time.Sleep(auth.KeyDelay / 3)
					for _, h := range servers {
						accepted(h.login(), http.StatusOK)
					}
					accepted(first, http.StatusOK)
				}
				assert.NotEqual(t, keys, read(t, file, store))

				last := servers[1].login()
				rotate(true)
				time.Sleep(6 * time.Second)
				accepted(last, http.StatusUnauthorized)
				accepted(servers[0].login(), http.StatusOK)
				for _, h := range servers {
					require.NoError(t, h.Close())
				}
			})
		})
	}
}

// read returns the signing keys in a file or a store.
func read(t *testing.T, file string, store records.Store) []byte {
	t.Helper()
	if file == "" {
		keys, err := accounts.SigningKeys(t.Context(), store, time.Now())
		require.NoError(t, err)
		return keys[0]
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// TestKeyFile checks that the file is readable by its owner only, that a looser one is repaired
// with a warning, and that it may have a key as text.
func TestKeyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jwt.key")
	mode := func() os.FileMode {
		info, err := os.Stat(file)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	s := settings(t, map[string]string{"JWT_SECRET_FILE": file})
	h := handle(t, s, records.NewMemStore(inventory.Schema()))
	assert.Equal(t, os.FileMode(0o600), mode())
	require.NoError(t, h.Close())
	require.NoError(t, os.Chmod(file, 0o666))
	h = handle(t, s, records.NewMemStore(inventory.Schema()))
	assert.Equal(t, os.FileMode(0o600), mode())
	assert.Contains(t, h.log.String(), "now 0600")
	require.NoError(t, h.Close())
	_, err := server.RotateKey(t.Context(), s, false, nil)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), mode())

	plain := bytes.Repeat([]byte("k"), 40)
	require.NoError(t, os.WriteFile(file, append(plain, '\n'), 0o400))
	h = handle(t, s, records.NewMemStore(inventory.Schema()))
	tokens, err := jwt.NewTokens([][]byte{plain}, nil)
	require.NoError(t, err)
	_, err = tokens.Verify(h.login())
	require.NoError(t, err)
	require.NoError(t, h.Close())

	for text, want := range map[string]string{"short": "at least 32", "": "at least 32", "{}": "0 token keys"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := server.New(t.Context(), s, (&server.Options{Log: slog.New(slog.DiscardHandler), Store: records.NewMemStore(inventory.Schema())}).Cheap())
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "JWT_SECRET_FILE: ")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file is left")
}

// TestMissingKeyFile checks that running servers keep their keys while the file is away, as it is
// between a deletion and the copy of another one, and that a rotation creates no file.
func TestMissingKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwt.key")
	synctest.Test(t, func(t *testing.T) {
		s := settings(t, map[string]string{"JWT_SECRET_FILE": file})
		h := handle(t, s, records.NewMemStore(inventory.Schema()))
		token := h.login()
		require.NoError(t, os.Rename(file, file+".away"))
		time.Sleep(11 * time.Second)
		assert.Equal(t, http.StatusOK, h.send("GET", "/devices", token, "").Code)
		assert.Contains(t, h.log.String(), "previous ones")
		_, err := server.RotateKey(t.Context(), s, false, nil)
		require.ErrorIs(t, err, os.ErrNotExist)
		assert.NoFileExists(t, file)
		require.NoError(t, os.Rename(file+".away", file))
		time.Sleep(6 * time.Second)
		assert.Contains(t, h.log.String(), "can be read again")
		assert.Equal(t, http.StatusOK, h.send("GET", "/devices", token, "").Code)
		require.NoError(t, h.Close())
	})
}

// TestLostKey: a key that is missing from the database is not replaced while servers run, nor by a
// rotation. A start replaces it with a warning, and revoke-keys does.
func TestLostKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := records.NewMemStore(inventory.Schema())
		s := settings(t, nil)
		h := handle(t, s, store)
		assert.NotContains(t, h.log.String(), "a new key")
		token := h.login()
		secrets := records.Of[inventory.Secret](store.Schema())
		lose := func() {
			page, err := store.List(t.Context(), (&records.Query{Resource: secrets}).Where("name", "token signing key"))
			require.NoError(t, err)
			require.Len(t, page.Records, 1)
			require.NoError(t, records.New(store, nil).Delete(t.Context(), records.Caller{}, secrets, records.Edit{ID: page.Records[0].Meta().ID}))
		}
		lose()
		time.Sleep(11 * time.Second)
		assert.Equal(t, http.StatusOK, h.send("GET", "/devices", token, "").Code)
		assert.Contains(t, h.log.String(), "no key")
		_, err := accounts.SigningKeys(t.Context(), store, time.Now())
		require.ErrorIs(t, err, accounts.ErrNoSigningKey)

		other := handle(t, s, store)
		assert.Contains(t, other.log.String(), "new key")
		time.Sleep(6 * time.Second)
		for _, h := range []*handled{h, other} {
			assert.Equal(t, http.StatusUnauthorized, h.send("GET", "/devices", token, "").Code)
			assert.Equal(t, http.StatusOK, h.send("GET", "/devices", other.login(), "").Code)
			require.NoError(t, h.Close())
		}
	})
}

// TestLostKeyOfFile checks the same for a database file, which commands open, and for a key file.
func TestLostKeyOfFile(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	h := handle(t, s, nil)
	h.login()
	require.NoError(t, h.Close())
	s.JWTSecretFile = filepath.Join(t.TempDir(), "jwt.key")
	h = handle(t, s, nil)
	assert.Contains(t, h.log.String(), "place="+s.JWTSecretFile)
	secrets := records.Of[inventory.Secret](h.Store().Schema())
	page, err := h.Store().List(t.Context(), (&records.Query{Resource: secrets}).Where("name", "token signing key"))
	require.NoError(t, err)
	require.NoError(t, records.New(h.Store(), nil).Delete(t.Context(), records.Caller{}, secrets, records.Edit{ID: page.Records[0].Meta().ID}))
	require.NoError(t, h.Close())
	s.JWTSecretFile = ""
	_, err = server.RotateKey(t.Context(), s, false, nil)
	require.ErrorContains(t, err, "revoke-keys")
	_, err = server.RotateKey(t.Context(), s, true, nil)
	require.NoError(t, err)
	_, err = server.RotateKey(t.Context(), s, false, nil)
	require.NoError(t, err)
}

// TestConcurrentRotations: of commands that run at once none undoes another one: after a revocation no
// earlier key verifies, and one rotation succeeds.
func TestConcurrentRotations(t *testing.T) {
	t.Parallel()
	for place, processes := range map[string]int{"file": 8, "database": 3} { // which wait for each other when they open it
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := settings(t, nil)
			if place == "file" {
				s.JWTSecretFile = filepath.Join(t.TempDir(), "jwt.key")
			}
			require.NoError(t, handle(t, s, nil).Close())
			var rotated atomic.Int32
			var all sync.WaitGroup
			for range processes {
				all.Go(func() {
					switch _, err := server.RotateKey(t.Context(), s, false, nil); {
					case err == nil:
						rotated.Add(1)
					case !strings.Contains(err.Error(), "rotation"):
						assert.NoError(t, err)
					}
				})
			}
			all.Wait()
			assert.EqualValues(t, 1, rotated.Load())
		})
	}
}

// TestKeysInFile: a file with several keys as text can be changed by hand while servers run: the first
// signs, all verify. A rotation limits the time of the others.
func TestKeysInFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwt.key")
	synctest.Test(t, func(t *testing.T) {
		old, current := strings.Repeat("o", 32), strings.Repeat("n", 32)
		write := func(text string) {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			time.Sleep(6 * time.Second)
		}
		write(old + "\n")
		s := settings(t, map[string]string{"JWT_SECRET_FILE": file, "JWT_EXPIRATION": "1h"})
		h := handle(t, s, records.NewMemStore(inventory.Schema()))
		first := h.login()
		status := func(token string) int { return h.send("GET", "/devices", token, "").Code }
		write(old + "\n" + current + "\n")
		assert.Equal(t, 200, status(h.login()))
		write("\n" + current + "\r\n" + old)
		assert.Equal(t, 200, status(first))
		second := h.login()
		_, err := server.RotateKey(t.Context(), s, false, nil)
		require.NoError(t, err)
		time.Sleep(auth.KeyDelay + 6*time.Second)
		for _, token := range []string{first, second, h.login()} {
			assert.Equal(t, 200, status(token))
		}
		set, err := os.ReadFile(file)
		require.NoError(t, err)
		keys, err := auth.ParseKeySet(set)
		require.NoError(t, err)
		assert.Len(t, keys.At(time.Now()), 3)
		assert.Len(t, keys.At(time.Now().Add(2*time.Hour)), 1, "no earlier key verifies after its last token has expired")
		write(current)
		assert.Equal(t, 401, status(first))
		assert.Equal(t, 200, status(second))
		require.NoError(t, h.Close())
	})
}

// TestTOTPIssuer checks that the setting names the inventory in authenticator apps.
func TestTOTPIssuer(t *testing.T) {
	t.Parallel()
	h := handle(t, settings(t, map[string]string{"TOTP_ISSUER": "Lab Berlin"}), records.NewMemStore(inventory.Schema()))
	w := h.send("POST", "/users/login", "", `{"username":"admin","password":"`+password+`"}`)
	var session struct {
		Token, URL string
		UserID     string `json:"user_id"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &session))
	w = h.send("POST", "/users/"+session.UserID+"/totp", session.Token, `{"current_password":"`+password+`"}`)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &session))
	assert.Contains(t, session.URL, "otpauth://totp/Lab%20Berlin:admin?")
	require.NoError(t, h.Close())
}

// TestRotateKeyWhere checks where a key can be rotated.
func TestRotateKeyWhere(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{"DATABASE_URL": filepath.Join(t.TempDir(), "inventory.db")})
	_, err := server.RotateKey(t.Context(), s, false, nil)
	require.ErrorIs(t, err, os.ErrNotExist, "a rotation creates no database")
	h := handle(t, s, nil)
	r, err := server.RotateKey(t.Context(), s, false, nil)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	assert.True(t, r.VerifiesUntil.After(r.SignsFrom.Add(s.JWTExpiration)))
	_, err = server.RotateKey(t.Context(), s, false, nil)
	require.ErrorContains(t, err, "try again after ")
	s.DatabaseURL = ":memory:"
	_, err = server.RotateKey(t.Context(), s, false, nil)
	require.ErrorContains(t, err, "only the running process")
	s.JWTSecret = strings.Repeat("s", 32)
	_, err = server.RotateKey(t.Context(), s, false, nil)
	require.ErrorContains(t, err, "JWT_SECRET_PREVIOUS")
}

// TestPreviousSecret checks that tokens of JWT_SECRET_PREVIOUS are accepted.
func TestPreviousSecret(t *testing.T) {
	t.Parallel()
	old, current := strings.Repeat("o", 32), strings.Repeat("n", 32)
	store := records.NewMemStore(inventory.Schema())
	before := handle(t, settings(t, map[string]string{"JWT_SECRET": old}), store)
	after := handle(t, settings(t, map[string]string{"JWT_SECRET": current, "JWT_SECRET_PREVIOUS": old}), store)
	assert.Equal(t, 200, after.send("GET", "/devices", before.login(), "").Code)
	assert.Equal(t, 401, before.send("GET", "/devices", after.login(), "").Code)
	require.NoError(t, before.Close())
	require.NoError(t, after.Close())
}
