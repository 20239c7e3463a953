-- Reset codes are in a table of their own (resets), which is generated from its description, so that a
-- user may have several. Those that were not used yet are void: they last 15 minutes.

-- +goose Up
DROP INDEX IF EXISTS users_reset_hash_idx;
DROP INDEX IF EXISTS users_reset_hash_27007a66_idx;
ALTER TABLE users DROP COLUMN reset_hash;
ALTER TABLE users DROP COLUMN reset_expires_at;

-- +goose Down
ALTER TABLE users ADD COLUMN reset_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN reset_expires_at INTEGER;
