-- The tables of the inventory. Columns, keys and references match the descriptions of the
-- resources, which a test compares. A missing string is empty. Strings compare by their bytes.
-- Times are microseconds since 1970 in UTC; lists and objects are JSON. The index of an optional
-- key omits records without a value, of which there may be any number.

-- +goose Up
CREATE TABLE locations (
    id                   TEXT NOT NULL CONSTRAINT locations_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    name                 TEXT NOT NULL CHECK (name <> ''),
    city                 TEXT NOT NULL CHECK (city <> ''),
    country              TEXT NOT NULL CHECK (country <> ''),
    address              TEXT NOT NULL CHECK (address <> ''),
    site_code            TEXT NOT NULL,
    timezone             TEXT NOT NULL,
    lat                  REAL CHECK (lat >= -90 AND lat <= 90),
    lon                  REAL CHECK (lon >= -180 AND lon <= 180),
    CHECK ((lat IS NULL) = (lon IS NULL))
) WITHOUT ROWID;
CREATE UNIQUE INDEX locations_site_code_key ON locations (site_code) WHERE site_code <> '';
CREATE INDEX locations_created_at_idx ON locations (created_at, id);
CREATE INDEX locations_name_idx ON locations (name, id);
CREATE INDEX locations_city_idx ON locations (city, id);
CREATE INDEX locations_country_idx ON locations (country, id);

CREATE TABLE users (
    id                   TEXT NOT NULL CONSTRAINT users_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    username             TEXT NOT NULL CHECK (username <> ''),
    email                TEXT NOT NULL CHECK (email <> ''),
    role                 TEXT NOT NULL CHECK (role IN ('admin', 'editor', 'viewer')),
    inactive_status      INTEGER NOT NULL CHECK (inactive_status IN (0, 1)),
    first_name           TEXT NOT NULL,
    last_name            TEXT NOT NULL,
    password_changed_at  INTEGER,
    last_login           INTEGER,
    password_hash        TEXT NOT NULL,
    epoch                INTEGER NOT NULL,
    reset_hash           TEXT NOT NULL,
    reset_expires_at     INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX users_username_key ON users (username);
CREATE UNIQUE INDEX users_email_key ON users (email);
CREATE INDEX users_created_at_idx ON users (created_at, id);

CREATE TABLE devices (
    id                   TEXT NOT NULL CONSTRAINT devices_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    hostname             TEXT NOT NULL CHECK (hostname <> ''),
    ip                   TEXT NOT NULL CHECK (ip <> ''),
    model                TEXT NOT NULL CHECK (model <> ''),
    vendor               TEXT NOT NULL CHECK (vendor <> ''),
    os                   TEXT NOT NULL CHECK (os <> ''),
    os_version           TEXT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('active', 'offline', 'maintenance', 'provisioning', 'decommissioned')),
    role                 TEXT NOT NULL,
    serial_number        TEXT NOT NULL,
    rack_position        TEXT NOT NULL,
    location_id          TEXT CONSTRAINT devices_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    last_seen            INTEGER,
    tags                 TEXT NOT NULL,
    notes                TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX devices_hostname_key ON devices (hostname);
CREATE UNIQUE INDEX devices_serial_number_key ON devices (serial_number) WHERE serial_number <> '';
CREATE INDEX devices_created_at_idx ON devices (created_at, id);
CREATE INDEX devices_ip_idx ON devices (ip, id);
CREATE INDEX devices_model_idx ON devices (model, id);
CREATE INDEX devices_vendor_idx ON devices (vendor, id);
CREATE INDEX devices_status_idx ON devices (status, id);
CREATE INDEX devices_rack_position_idx ON devices (rack_position, id);
CREATE INDEX devices_location_id_idx ON devices (location_id, id);
CREATE INDEX devices_last_seen_idx ON devices (last_seen, id);

CREATE TABLE interfaces (
    id                   TEXT NOT NULL CONSTRAINT interfaces_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    device_id            TEXT NOT NULL CONSTRAINT interfaces_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    name                 TEXT NOT NULL CHECK (name <> ''),
    description          TEXT NOT NULL,
    type                 TEXT NOT NULL CHECK (type <> ''),
    status               TEXT NOT NULL CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    admin_status         TEXT NOT NULL CHECK (admin_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    oper_status          TEXT NOT NULL CHECK (oper_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant')),
    speed                TEXT NOT NULL,
    speed_mbps           INTEGER CHECK (speed_mbps >= 1 AND speed_mbps <= 1000000000),
    mtu                  INTEGER CHECK (mtu >= 64 AND mtu <= 65535),
    mac_address          TEXT NOT NULL,
    mode                 TEXT NOT NULL,
    ifindex              INTEGER CHECK (ifindex >= 1 AND ifindex <= 2147483647),
    ip_address           TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX interfaces_device_id_name_key ON interfaces (device_id, name);
CREATE INDEX interfaces_created_at_idx ON interfaces (created_at, id);
CREATE INDEX interfaces_name_idx ON interfaces (name, id);
CREATE INDEX interfaces_status_idx ON interfaces (status, id);
CREATE INDEX interfaces_speed_mbps_idx ON interfaces (speed_mbps, id);
CREATE INDEX interfaces_mac_address_idx ON interfaces (mac_address, id);
CREATE INDEX interfaces_ip_address_idx ON interfaces (ip_address, id);

CREATE TABLE vlans (
    id                   TEXT NOT NULL CONSTRAINT vlans_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    vlan_id              INTEGER NOT NULL CHECK (vlan_id >= 1 AND vlan_id <= 4094),
    name                 TEXT NOT NULL CHECK (name <> ''),
    description          TEXT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('active', 'inactive', 'reserved', 'deprecated')),
    location_id          TEXT CONSTRAINT vlans_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    subnet_cidr          TEXT NOT NULL,
    gateway_ip           TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX vlans_location_id_vlan_id_key ON vlans (location_id, vlan_id) WHERE location_id IS NOT NULL;
CREATE INDEX vlans_created_at_idx ON vlans (created_at, id);
CREATE INDEX vlans_vlan_id_idx ON vlans (vlan_id, id);
CREATE INDEX vlans_name_idx ON vlans (name, id);

CREATE TABLE links (
    id                   TEXT NOT NULL CONSTRAINT links_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    a_interface_id       TEXT NOT NULL CONSTRAINT links_a_interface_id_fkey REFERENCES interfaces (id) ON DELETE CASCADE,
    b_interface_id       TEXT NOT NULL CONSTRAINT links_b_interface_id_fkey REFERENCES interfaces (id) ON DELETE CASCADE,
    type                 TEXT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    discovery            TEXT NOT NULL,
    last_seen            INTEGER,
    CHECK (a_interface_id < b_interface_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX links_a_interface_id_b_interface_id_key ON links (a_interface_id, b_interface_id);
CREATE INDEX links_created_at_idx ON links (created_at, id);
CREATE INDEX links_b_interface_id_idx ON links (b_interface_id, id);

CREATE TABLE events (
    id                   TEXT NOT NULL CONSTRAINT events_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    severity             TEXT NOT NULL CHECK (severity IN ('critical', 'high', 'medium', 'low', 'warning', 'info')),
    type                 TEXT NOT NULL CHECK (type <> ''),
    message              TEXT NOT NULL CHECK (message <> ''),
    device_id            TEXT CONSTRAINT events_device_id_fkey REFERENCES devices (id) ON DELETE SET NULL,
    interface_id         TEXT CONSTRAINT events_interface_id_fkey REFERENCES interfaces (id) ON DELETE SET NULL,
    location_id          TEXT CONSTRAINT events_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    acknowledged_at      INTEGER,
    acknowledged_by      TEXT CONSTRAINT events_acknowledged_by_fkey REFERENCES users (id) ON DELETE SET NULL
) WITHOUT ROWID;
CREATE INDEX events_created_at_idx ON events (created_at, id);
CREATE INDEX events_severity_idx ON events (severity, id);
CREATE INDEX events_type_idx ON events (type, id);
CREATE INDEX events_device_id_idx ON events (device_id, id);
CREATE INDEX events_interface_id_idx ON events (interface_id, id);
CREATE INDEX events_location_id_idx ON events (location_id, id);
CREATE INDEX events_acknowledged_by_idx ON events (acknowledged_by, id);

CREATE TABLE metrics (
    id                   TEXT NOT NULL CONSTRAINT metrics_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    device_id            TEXT NOT NULL CONSTRAINT metrics_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    cpu                  REAL CHECK (cpu >= 0 AND cpu <= 100),
    memory               REAL CHECK (memory >= 0 AND memory <= 100),
    temp                 REAL CHECK (temp >= -100 AND temp <= 300),
    uptime_seconds       INTEGER CHECK (uptime_seconds >= 0),
    ts                   INTEGER
) WITHOUT ROWID;
CREATE INDEX metrics_created_at_idx ON metrics (created_at, id);
CREATE INDEX metrics_device_id_idx ON metrics (device_id, id);
CREATE INDEX metrics_ts_idx ON metrics (ts, id);

CREATE TABLE audit_logs (
    id                   TEXT NOT NULL CONSTRAINT audit_logs_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    user_id              TEXT CONSTRAINT audit_logs_user_id_fkey REFERENCES users (id) ON DELETE SET NULL,
    actor                TEXT NOT NULL,
    action               TEXT NOT NULL,
    resource_type        TEXT NOT NULL,
    resource_id          TEXT NOT NULL,
    ip_address           TEXT NOT NULL,
    request_id           TEXT NOT NULL,
    changes              TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_logs_created_at_idx ON audit_logs (created_at, id);
CREATE INDEX audit_logs_user_id_idx ON audit_logs (user_id, id);
CREATE INDEX audit_logs_resource_id_idx ON audit_logs (resource_id, id);

CREATE TABLE receipts (
    id                   TEXT NOT NULL CONSTRAINT receipts_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    owner                TEXT NOT NULL CHECK (owner <> ''),
    key                  TEXT NOT NULL CHECK (key <> ''),
    request              TEXT NOT NULL CHECK (request <> ''),
    status               INTEGER NOT NULL,
    location             TEXT NOT NULL,
    body                 TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX receipts_owner_key_key ON receipts (owner, key);
CREATE INDEX receipts_created_at_idx ON receipts (created_at, id);

CREATE TABLE secrets (
    id                   TEXT NOT NULL CONSTRAINT secrets_pkey PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version >= 1),
    name                 TEXT NOT NULL CHECK (name <> ''),
    value                TEXT NOT NULL CHECK (value <> '')
) WITHOUT ROWID;
CREATE UNIQUE INDEX secrets_name_key ON secrets (name);
CREATE INDEX secrets_created_at_idx ON secrets (created_at, id);

-- The number of records with a value in a field, and of all records, with an empty field and
-- value. A count is the sum of its slots.
CREATE TABLE tallies (
    resource TEXT    NOT NULL,
    field    TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    slot     INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (resource, field, value, slot)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE tallies;
DROP TABLE secrets;
DROP TABLE receipts;
DROP TABLE audit_logs;
DROP TABLE metrics;
DROP TABLE events;
DROP TABLE links;
DROP TABLE vlans;
DROP TABLE interfaces;
DROP TABLE devices;
DROP TABLE users;
DROP TABLE locations;
