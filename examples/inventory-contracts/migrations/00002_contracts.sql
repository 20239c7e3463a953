-- +goose Up
CREATE TABLE contracts (
    id INTEGER PRIMARY KEY,
    device_id TEXT NOT NULL,
    hostname TEXT NOT NULL, -- for invoices
    customer TEXT NOT NULL,
    ends TEXT NOT NULL -- the last day
);
CREATE INDEX contracts_device ON contracts (device_id);
