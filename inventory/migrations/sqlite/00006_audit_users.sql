-- The audit log keeps the id of a user as text, also after the user is deleted. SQLite has no
-- statement that removes a reference, so the text of the definition is edited, as in migration 2.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    ' CONSTRAINT audit_logs_user_id_fkey REFERENCES users (id) ON DELETE SET NULL', '')
    WHERE type = 'table' AND name = 'audit_logs';
PRAGMA writable_schema = RESET;

-- These statements make other connections read the schema again.
CREATE TABLE schema_changed (n INTEGER);
DROP TABLE schema_changed;

-- +goose Down
SELECT no_way_back FROM audit_logs; -- entries may have the ids of users that were deleted
