-- The latest metric of each device, which the transactions that change metrics keep up to date. It
-- has no reference to devices: a store deletes and counts its rows itself. Its indexes are for the
-- default order, the latest time and id first, and for the highest values, with ids ascending.
-- The metrics of one device are indexed by time. Their creation time is not indexed any more,
-- because they are listed and deleted by ts.

-- +goose Up
DROP INDEX metrics_created_at_idx;
DROP INDEX metrics_device_id_idx;
CREATE INDEX metrics_device_id_idx ON metrics (device_id, ts NULLS FIRST, id);
CREATE TABLE metrics_latest (
    id                   text COLLATE "C" NOT NULL,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL,
    device_id            text COLLATE "C" NOT NULL CONSTRAINT metrics_latest_pkey PRIMARY KEY,
    cpu                  double precision,
    memory               double precision,
    temp                 double precision,
    uptime_seconds       bigint,
    ts                   timestamptz
);
INSERT INTO metrics_latest (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts)
SELECT m.id, m.created_at, m.updated_at, m.version, m.device_id, m.cpu, m.memory, m.temp, m.uptime_seconds, m.ts
FROM devices d JOIN metrics m
    ON m.id = (SELECT id FROM metrics WHERE device_id = d.id ORDER BY ts DESC NULLS LAST, id DESC LIMIT 1);
INSERT INTO tallies (resource, field, value, slot, n)
SELECT 'metrics_latest', '', '', 0, count(*) FROM metrics_latest;
CREATE INDEX metrics_latest_ts_idx ON metrics_latest (ts NULLS FIRST, id);
CREATE INDEX metrics_latest_cpu_idx ON metrics_latest (cpu NULLS FIRST, id DESC);
CREATE INDEX metrics_latest_memory_idx ON metrics_latest (memory NULLS FIRST, id DESC);
CREATE INDEX metrics_latest_temp_idx ON metrics_latest (temp NULLS FIRST, id DESC);
CREATE INDEX metrics_latest_uptime_seconds_idx ON metrics_latest (uptime_seconds NULLS FIRST, id DESC);

-- Summaries of the metrics of a device in periods, and the state of the job that writes them.
CREATE TABLE metric_rollups (
    id                   text COLLATE "C" NOT NULL CONSTRAINT metric_rollups_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    device_id            text COLLATE "C" NOT NULL CONSTRAINT metric_rollups_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    bucket               text COLLATE "C" NOT NULL CHECK (bucket <> ''),
    samples              bigint NOT NULL,
    cpu_min              double precision,
    cpu_avg              double precision,
    cpu_max              double precision,
    memory_min           double precision,
    memory_avg           double precision,
    memory_max           double precision,
    temp_min             double precision,
    temp_avg             double precision,
    temp_max             double precision,
    uptime_seconds       bigint
);
CREATE UNIQUE INDEX metric_rollups_device_id_bucket_key ON metric_rollups (device_id, bucket);
CREATE INDEX metric_rollups_bucket_idx ON metric_rollups (bucket, id);
CREATE TABLE jobs (
    id                   text COLLATE "C" NOT NULL CONSTRAINT jobs_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    name                 text COLLATE "C" NOT NULL CHECK (name <> ''),
    cursor_id            text COLLATE "C" NOT NULL,
    owner                text COLLATE "C" NOT NULL,
    until                timestamptz
);
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
