-- Reset codes are in a table of their own (resets), which is generated from its description, so that a
-- user may have several. Those that were not used yet are void: they last 15 minutes.

-- +goose Up
ALTER TABLE users DROP COLUMN reset_hash;
ALTER TABLE users DROP COLUMN reset_expires_at;
ALTER TABLE users DROP COLUMN IF EXISTS reset_password; -- of databases of versions in between

-- +goose Down
ALTER TABLE users ADD COLUMN reset_hash text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN reset_expires_at timestamptz;
