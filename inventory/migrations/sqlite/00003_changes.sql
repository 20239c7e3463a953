-- The audit log as a chain in the order of commits. audit_chain has the position of each entry
-- from 1, without gaps, and the SHA-256 of the hash before and the digest of the entry; audit_head
-- the last position. An anchor ends the part of the chain that was pruned. The first one ends
-- the part from before the chain, whose entries have positions and no hashes.

-- +goose Up
ALTER TABLE audit_logs ADD COLUMN cause TEXT NOT NULL DEFAULT '';
CREATE TABLE audit_chain (
    seq                  INTEGER NOT NULL CONSTRAINT audit_chain_pkey PRIMARY KEY,
    id                   TEXT NOT NULL,
    hash                 BLOB NOT NULL
);
CREATE TABLE audit_head (
    id                   INTEGER NOT NULL CONSTRAINT audit_head_pkey PRIMARY KEY CHECK (id = 1),
    seq                  INTEGER NOT NULL,
    hash                 BLOB NOT NULL
);
CREATE TABLE audit_anchors (
    seq                  INTEGER NOT NULL CONSTRAINT audit_anchors_pkey PRIMARY KEY,
    hash                 BLOB NOT NULL,
    pruned               INTEGER NOT NULL CHECK (pruned >= 0),
    actor                TEXT NOT NULL,
    at                   INTEGER NOT NULL
);
INSERT INTO audit_chain (seq, id, hash) SELECT row_number() OVER (ORDER BY id), id, x'' FROM audit_logs;
INSERT INTO audit_head (id, seq, hash) SELECT 1, count(*), x'' FROM audit_logs;
INSERT INTO audit_anchors (seq, hash, pruned, actor, at) SELECT seq, x'', 0, '', unixepoch() * 1000000 FROM audit_head;

-- +goose Down
DROP TABLE audit_anchors;
DROP TABLE audit_head;
DROP TABLE audit_chain;
ALTER TABLE audit_logs DROP COLUMN cause;
