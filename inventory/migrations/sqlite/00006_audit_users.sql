-- The audit log keeps the id of a user as text, also after the user is deleted. SQLite has no
-- statement that removes a reference, so the text of the definition is edited, as in migration 2.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    ' CONSTRAINT audit_logs_user_id_fkey REFERENCES users (id) ON DELETE SET NULL', '')
    WHERE type = 'table' AND name = 'audit_logs';
PRAGMA writable_schema = RESET;

-- These statements also make other connections read the schema again. The index is generated from
-- the description, with other columns than before.
DROP INDEX IF EXISTS audit_logs_user_id_idx;
DROP INDEX IF EXISTS audit_logs_user_id_36700eef_idx;

-- +goose Down
SELECT no_way_back FROM audit_logs; -- entries may have the ids of users that were deleted
