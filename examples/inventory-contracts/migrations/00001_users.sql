-- +goose Up
CREATE TABLE users (
    name TEXT NOT NULL PRIMARY KEY,
    key_hash TEXT NOT NULL UNIQUE, -- SHA-256 of the API key, in hexadecimal digits
    role TEXT NOT NULL
);
INSERT INTO users (name, key_hash, role) VALUES ('jane', '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b', 'admin'); -- the key: secret
INSERT INTO users (name, key_hash, role) VALUES ('joe', 'fe14010b4fe83303852f0467c919ef9a7ca089b91e96e3aad7d426dd87079297', 'finance'); -- the key: ledger
