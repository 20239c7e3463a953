package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// keyInterval is the interval at which the signing keys are read, which must be well within auth.KeyDelay.
const keyInterval = auth.KeyDelay / 6

// signingKeys reads the keys that sign and verify tokens: from the settings, the file
// JWT_SECRET_FILE or the database.
func (s *Server) signingKeys(ctx context.Context) ([][]byte, error) {
	set := s.settings
	switch {
	case set.JWTSecret != "" && set.JWTSecretPrevious != "":
		return [][]byte{[]byte(set.JWTSecret), []byte(set.JWTSecretPrevious)}, nil
	case set.JWTSecret != "":
		return [][]byte{[]byte(set.JWTSecret)}, nil
	case set.JWTSecretFile != "":
		keys, err := readKeyFile(set.JWTSecretFile, s.log)
		if err != nil {
			return nil, fmt.Errorf("JWT_SECRET_FILE: %w", err)
		}
		return keys.At(time.Now()), nil
	}
	return accounts.SigningKeys(ctx, s.store, time.Now())
}

// openTokens reads the signing keys, and again every five seconds until Close: another process
// may rotate them.
func (s *Server) openTokens(ctx context.Context) (*jwt.Tokens, error) {
	if err := s.createKey(ctx); err != nil { // not later: a key that is away for a moment stays in use
		return nil, err
	}
	keys, err := s.signingKeys(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := jwt.NewTokens(keys, &jwt.TokensOptions{Lifetime: s.settings.JWTExpiration})
	if err != nil || s.settings.JWTSecret != "" {
		return tokens, err
	}
	s.background(func(ctx context.Context) error { return s.watchKeys(ctx, tokens) })
	return tokens, nil
}

// createKey creates the first key, if the settings have none. It logs a warning if there are sessions,
// which were begun with another key and end.
func (s *Server) createKey(ctx context.Context) (err error) {
	created, where := false, "the database"
	switch {
	case s.settings.JWTSecret != "":
		return nil
	case s.settings.JWTSecretFile != "":
		where = s.settings.JWTSecretFile
		if created, err = createKeyFile(where); err != nil {
			return fmt.Errorf("JWT_SECRET_FILE: %w", err)
		}
	default:
		if created, err = accounts.CreateSigningKey(ctx, s.store); err != nil {
			return err
		}
	}
	if !created {
		return nil
	}
	if session, err := records.First[inventory.Session](ctx, s.store); err != nil || session == nil {
		return err
	}
	s.log.Warn("a new key that signs tokens was created, because there was none: all earlier sessions have ended. "+
		"Unless the place of the key was changed, the key was lost: restore it from a backup to keep the sessions", "place", where)
	return nil
}

// watchKeys puts changed keys into use until ctx ends. While they can't be read, the previous
// ones stay in use.
func (s *Server) watchKeys(ctx context.Context, tokens *jwt.Tokens) error {
	tick := time.NewTicker(keyInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		keys, err := s.signingKeys(ctx)
		if err == nil {
			err = tokens.SetKeys(keys)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			s.log.Warn("the keys that sign tokens can't be read; the previous ones stay in use", "err", err)
		case err == nil && failing:
			s.log.Info("the keys that sign tokens can be read again")
		}
		failing = err != nil
	}
}

// Rotation is a change of the key that signs tokens.
type Rotation struct {
	SignsFrom     time.Time // of the new key
	VerifiesUntil time.Time // of the previous key
}

// RotateKey adds a key that signs tokens, in JWT_SECRET_FILE or the database of the settings.
// Running servers notice. The previous key verifies until its last token has expired, as
// JWT_EXPIRATION says; with revoke it is dropped, which ends all sessions. s are the settings of
// the servers. A nil log means slog.Default.
func RotateKey(ctx context.Context, s *Settings, revoke bool, log *slog.Logger) (r Rotation, err error) {
	log = cmp.Or(log, slog.Default())
	change := func(set *auth.KeySet) error {
		if revoke {
			set.Revoke()
			r.SignsFrom = time.Now().UTC().Truncate(time.Second)
			r.VerifiesUntil = r.SignsFrom
			return nil
		}
		r.SignsFrom, r.VerifiesUntil, err = set.Rotate(time.Now(), s.JWTExpiration)
		return err
	}
	switch {
	case s == nil:
		return r, errNoSettings
	case s.JWTSecret != "":
		return r, errors.New("JWT_SECRET is set: change it there and set JWT_SECRET_PREVIOUS to the old key, or use JWT_SECRET_FILE")
	case s.JWTSecretFile != "":
		if err := rotateKeyFile(s.JWTSecretFile, change, log); err != nil {
			return r, fmt.Errorf("JWT_SECRET_FILE: %w", err)
		}
		return r, nil
	}
	if err := mustExist(s); err != nil {
		return r, err
	}
	err = withStore(ctx, s, log, "change", func(store records.Store) error {
		if revoke { // also a lost key
			if _, err := accounts.CreateSigningKey(ctx, store); err != nil {
				return err
			}
		}
		return accounts.RotateSigningKey(ctx, store, change)
	})
	switch {
	case records.KindOf(err) == records.Stale:
		err = errors.New("another process has changed the keys at the same time: try again")
	case errors.Is(err, accounts.ErrNoSigningKey):
		err = fmt.Errorf("%w: restore it from a backup, or use revoke-keys, which creates one and ends all sessions", err)
	}
	return r, err
}

// maxKeyFile bounds what is read of JWT_SECRET_FILE.
const maxKeyFile = 64 << 10

// readKeyFile reads the keys in a file, an auth.KeySet.
func readKeyFile(name string, log *slog.Logger) (*auth.KeySet, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := protect(f, log); err != nil {
		return nil, err
	}
	text := make([]byte, maxKeyFile)
	n, err := f.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: write a key of at least %d random bytes, or delete the file", name, err, auth.MinKeyBytes)
	}
	set, err := auth.ParseKeySet(text[:n])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, nil
}

// protect makes a file with keys unreadable for others. A group may read it, because Kubernetes
// mounts secrets like this.
func protect(f *os.File, log *slog.Logger) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" || mode&0o027 == 0 {
		return nil
	}
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("%s has mode %04o, so others may read or change it, and it can't be repaired: %w: use 0600, 0440 or less", f.Name(), mode, err)
	}
	log.Warn("the file with the key that signs tokens was open to others and is now 0600: rotate the key", "file", f.Name(), "mode", fmt.Sprintf("%04o", mode))
	return nil
}

// createKeyFile creates a file with one random key, unless it exists or another process does, and
// reports whether it did.
func createKeyFile(name string) (created bool, err error) {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // readKeyFile reports other errors
	}
	set, err := auth.NewKeySet(nil)
	if err != nil {
		return false, err
	}
	temporary, err := writeTemporary(name, set)
	if err != nil {
		return false, err
	}
	err = os.Link(temporary, name) // unlike a rename, it replaces no file
	created = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return created, errors.Join(err, os.Remove(temporary))
}

// rotateKeyFile replaces the keys in a file atomically, after others that do. The new file has the mode
// and the owner of the old one, so that the same servers can read it.
func rotateKeyFile(name string, change func(*auth.KeySet) error, log *slog.Logger) (err error) {
	name, err = filepath.EvalSymlinks(name) // replace the file and not the link
	if err != nil {
		return err
	}
	unlock, err := lockDir(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	set, err := readKeyFile(name, log)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if err := change(set); err != nil {
		return err
	}
	temporary, err := writeTemporary(name, set)
	if err != nil {
		return err
	}
	err = giveLike(temporary, info)
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// giveLike gives a file the owner, the group and the mode of another one.
func giveLike(name string, like fs.FileInfo) error {
	if err := chown(name, like); err != nil {
		return fmt.Errorf("%w: run this command as the owner of the file", err)
	}
	return os.Chmod(name, like.Mode().Perm())
}

// writeTemporary writes keys to a new file of mode 0600 beside another.
func writeTemporary(name string, set *auth.KeySet) (temporary string, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(set.Encode(), '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
