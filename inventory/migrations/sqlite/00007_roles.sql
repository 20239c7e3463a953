-- A program may define roles of its own (inventory.Roles), which the description of users checks.
-- 00002_real_networks.sql says why the text of the definition is edited.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (role IN (''admin'', ''editor'', ''viewer''))', 'CHECK (role <> '''')')
    WHERE type = 'table' AND name = 'users';
PRAGMA writable_schema = RESET;

-- These statements make other connections read the schema again.
CREATE TABLE roles_changed (id TEXT);
DROP TABLE roles_changed;

-- +goose Down
SELECT no_way_back FROM users; -- users may have other roles
