-- The latest metric of each device, which the transactions that change metrics keep up to date. It
-- has no reference to devices: a store deletes and counts its rows itself. Its indexes are for the
-- default order, the latest time and id first, and for the highest values, with ids ascending.
-- The metrics of one device are indexed by time. Their creation time is not indexed any more,
-- because they are listed and deleted by ts.

-- +goose Up
DROP INDEX metrics_created_at_idx;
DROP INDEX metrics_device_id_idx;
CREATE INDEX metrics_device_id_idx ON metrics (device_id, ts, id);
CREATE TABLE metrics_latest (
    id                   TEXT NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL,
    device_id            TEXT NOT NULL CONSTRAINT metrics_latest_pkey PRIMARY KEY,
    cpu                  REAL,
    memory               REAL,
    temp                 REAL,
    uptime_seconds       INTEGER,
    ts                   INTEGER
);
INSERT INTO metrics_latest (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts)
SELECT m.id, m.created_at, m.updated_at, m.version, m.device_id, m.cpu, m.memory, m.temp, m.uptime_seconds, m.ts
FROM devices d JOIN metrics m
    ON m.id = (SELECT id FROM metrics WHERE device_id = d.id ORDER BY ts DESC, id DESC LIMIT 1);
INSERT INTO tallies (resource, field, value, slot, n)
SELECT 'metrics_latest', '', '', 0, count(*) FROM metrics_latest;
CREATE INDEX metrics_latest_ts_idx ON metrics_latest (ts, id);
CREATE INDEX metrics_latest_cpu_idx ON metrics_latest (cpu, id DESC);
CREATE INDEX metrics_latest_memory_idx ON metrics_latest (memory, id DESC);
CREATE INDEX metrics_latest_temp_idx ON metrics_latest (temp, id DESC);
CREATE INDEX metrics_latest_uptime_seconds_idx ON metrics_latest (uptime_seconds, id DESC);

-- Summaries of the metrics of a device in periods, and the state of the job that writes them.
CREATE TABLE metric_rollups (
    id                   TEXT NOT NULL CONSTRAINT metric_rollups_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    device_id            TEXT NOT NULL CONSTRAINT metric_rollups_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    bucket               TEXT NOT NULL CHECK (bucket <> ''),
    samples              INTEGER NOT NULL,
    cpu_min              REAL,
    cpu_avg              REAL,
    cpu_max              REAL,
    memory_min           REAL,
    memory_avg           REAL,
    memory_max           REAL,
    temp_min             REAL,
    temp_avg             REAL,
    temp_max             REAL,
    uptime_seconds       INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX metric_rollups_device_id_bucket_key ON metric_rollups (device_id, bucket);
CREATE INDEX metric_rollups_bucket_idx ON metric_rollups (bucket, id);
CREATE TABLE jobs (
    id                   TEXT NOT NULL CONSTRAINT jobs_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    name                 TEXT NOT NULL CHECK (name <> ''),
    cursor_id            TEXT NOT NULL,
    owner                TEXT NOT NULL,
    until                INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_name_key ON jobs (name);
CREATE INDEX jobs_created_at_idx ON jobs (created_at, id);

-- +goose Down
DROP TABLE jobs;
DROP TABLE metric_rollups;
DROP TABLE metrics_latest;
DELETE FROM tallies WHERE resource = 'metrics_latest';
DROP INDEX metrics_device_id_idx;
CREATE INDEX metrics_device_id_idx ON metrics (device_id, id);
CREATE INDEX metrics_created_at_idx ON metrics (created_at, id);
