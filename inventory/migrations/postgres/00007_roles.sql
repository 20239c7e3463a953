-- A program may define roles of its own (inventory.Roles), which the description of users checks.

-- +goose Up
ALTER TABLE users
    DROP CONSTRAINT users_role_check,
    ADD CONSTRAINT users_role_check CHECK (role <> '');

-- +goose Down
SELECT no_way_back FROM users; -- users may have other roles
