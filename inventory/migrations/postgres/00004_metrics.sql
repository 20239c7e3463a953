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

-- +goose Down
DROP TABLE metrics_latest;
DELETE FROM tallies WHERE resource = 'metrics_latest';
DROP INDEX metrics_device_id_idx;
CREATE INDEX metrics_device_id_idx ON metrics (device_id, id);
CREATE INDEX metrics_created_at_idx ON metrics (created_at, id);
