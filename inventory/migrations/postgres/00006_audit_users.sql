-- The audit log keeps the id of a user as text, also after the user is deleted.

-- +goose Up
ALTER TABLE audit_logs DROP CONSTRAINT audit_logs_user_id_fkey;

-- +goose Down
SELECT 1 / 0; -- irreversible: entries may have the ids of users that were deleted
