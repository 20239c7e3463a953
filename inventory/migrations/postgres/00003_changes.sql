-- The audit log as a chain in the order of commits. audit_chain has the position of each entry
-- from 1, without gaps, and the SHA-256 of the hash before and the digest of the entry; audit_head
-- the last position. An anchor ends the part of the chain that was pruned. The first one ends
-- the part from before the chain, whose entries have positions and no hashes.

-- +goose Up
ALTER TABLE audit_logs ADD COLUMN cause text COLLATE "C" NOT NULL DEFAULT '';
CREATE TABLE audit_chain (
    seq                  bigint NOT NULL CONSTRAINT audit_chain_pkey PRIMARY KEY,
    id                   text COLLATE "C" NOT NULL,
    hash                 bytea NOT NULL
);
CREATE TABLE audit_head (
    id                   bigint NOT NULL CONSTRAINT audit_head_pkey PRIMARY KEY CHECK (id = 1),
    seq                  bigint NOT NULL,
    hash                 bytea NOT NULL
);
CREATE TABLE audit_anchors (
    seq                  bigint NOT NULL CONSTRAINT audit_anchors_pkey PRIMARY KEY,
    hash                 bytea NOT NULL,
    pruned               bigint NOT NULL CHECK (pruned >= 0),
    actor                text COLLATE "C" NOT NULL,
    at                   timestamptz NOT NULL
);
INSERT INTO audit_chain (seq, id, hash) SELECT row_number() OVER (ORDER BY id), id, '' FROM audit_logs;
INSERT INTO audit_head (id, seq, hash) SELECT 1, count(*), '' FROM audit_logs;
INSERT INTO audit_anchors (seq, hash, pruned, actor, at) SELECT seq, '', 0, '', now() FROM audit_head;

-- +goose Down
DROP TABLE audit_anchors;
DROP TABLE audit_head;
DROP TABLE audit_chain;
ALTER TABLE audit_logs DROP COLUMN cause;
