-- The tables of the inventory. Columns, keys and references match the descriptions of the
-- resources, which a test compares. A missing string is empty. Strings compare by their bytes
-- (COLLATE "C"), whatever the locale of the database. The index of an optional key omits records
-- without a value, of which there may be any number. Null sorts before all values, also in
-- indexes.

-- +goose Up
CREATE TABLE locations (
    id                   text COLLATE "C" NOT NULL CONSTRAINT locations_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    name                 text COLLATE "C" NOT NULL CHECK (name <> ''),
    city                 text COLLATE "C" NOT NULL CHECK (city <> ''),
    country              text COLLATE "C" NOT NULL CHECK (country <> ''),
    address              text COLLATE "C" NOT NULL CHECK (address <> ''),
    site_code            text COLLATE "C" NOT NULL,
    timezone             text COLLATE "C" NOT NULL,
    lat                  double precision CHECK (lat >= -90 AND lat <= 90),
    lon                  double precision CHECK (lon >= -180 AND lon <= 180),
    CHECK ((lat IS NULL) = (lon IS NULL))
);
CREATE UNIQUE INDEX locations_site_code_key ON locations (site_code) WHERE site_code <> '';
CREATE INDEX locations_created_at_idx ON locations (created_at, id);
CREATE INDEX locations_name_idx ON locations (name, id);
CREATE INDEX locations_city_idx ON locations (city, id);
CREATE INDEX locations_country_idx ON locations (country, id);

CREATE TABLE users (
    id                   text COLLATE "C" NOT NULL CONSTRAINT users_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    username             text COLLATE "C" NOT NULL CHECK (username <> ''),
    email                text COLLATE "C" NOT NULL CHECK (email <> ''),
    role                 text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'editor', 'viewer')),
    inactive_status      boolean NOT NULL,
    first_name           text COLLATE "C" NOT NULL,
    last_name            text COLLATE "C" NOT NULL,
    password_changed_at  timestamptz,
    last_login           timestamptz,
    password_hash        text COLLATE "C" NOT NULL,
    epoch                bigint NOT NULL,
    reset_hash           text COLLATE "C" NOT NULL,
    reset_expires_at     timestamptz
);
CREATE UNIQUE INDEX users_username_key ON users (username);
CREATE UNIQUE INDEX users_email_key ON users (email);
CREATE INDEX users_created_at_idx ON users (created_at, id);

CREATE TABLE devices (
    id                   text COLLATE "C" NOT NULL CONSTRAINT devices_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    hostname             text COLLATE "C" NOT NULL CHECK (hostname <> ''),
    ip                   text COLLATE "C" NOT NULL CHECK (ip <> ''),
    model                text COLLATE "C" NOT NULL CHECK (model <> ''),
    vendor               text COLLATE "C" NOT NULL CHECK (vendor <> ''),
    os                   text COLLATE "C" NOT NULL CHECK (os <> ''),
    os_version           text COLLATE "C" NOT NULL,
    status               text COLLATE "C" NOT NULL CHECK (status IN ('active', 'offline', 'maintenance', 'provisioning', 'decommissioned')),
    role                 text COLLATE "C" NOT NULL,
    serial_number        text COLLATE "C" NOT NULL,
    rack_position        text COLLATE "C" NOT NULL,
    location_id          text COLLATE "C" CONSTRAINT devices_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    last_seen            timestamptz,
    tags                 jsonb NOT NULL,
    notes                text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX devices_hostname_key ON devices (hostname);
CREATE UNIQUE INDEX devices_serial_number_key ON devices (serial_number) WHERE serial_number <> '';
CREATE INDEX devices_created_at_idx ON devices (created_at, id);
CREATE INDEX devices_ip_idx ON devices (ip, id);
CREATE INDEX devices_model_idx ON devices (model, id);
CREATE INDEX devices_vendor_idx ON devices (vendor, id);
CREATE INDEX devices_status_idx ON devices (status, id);
CREATE INDEX devices_rack_position_idx ON devices (rack_position, id);
CREATE INDEX devices_location_id_idx ON devices (location_id NULLS FIRST, id);
CREATE INDEX devices_last_seen_idx ON devices (last_seen NULLS FIRST, id);

CREATE TABLE interfaces (
    id                   text COLLATE "C" NOT NULL CONSTRAINT interfaces_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    device_id            text COLLATE "C" NOT NULL CONSTRAINT interfaces_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    name                 text COLLATE "C" NOT NULL CHECK (name <> ''),
    description          text COLLATE "C" NOT NULL,
    type                 text COLLATE "C" NOT NULL CHECK (type <> ''),
    status               text COLLATE "C" NOT NULL CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    admin_status         text COLLATE "C" NOT NULL CHECK (admin_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    oper_status          text COLLATE "C" NOT NULL CHECK (oper_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant')),
    speed                text COLLATE "C" NOT NULL,
    speed_mbps           bigint CHECK (speed_mbps >= 1 AND speed_mbps <= 1000000000),
    mtu                  bigint CHECK (mtu >= 64 AND mtu <= 65535),
    mac_address          text COLLATE "C" NOT NULL,
    mode                 text COLLATE "C" NOT NULL,
    ifindex              bigint CHECK (ifindex >= 1 AND ifindex <= 2147483647),
    ip_address           text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX interfaces_device_id_name_key ON interfaces (device_id, name);
CREATE INDEX interfaces_created_at_idx ON interfaces (created_at, id);
CREATE INDEX interfaces_name_idx ON interfaces (name, id);
CREATE INDEX interfaces_status_idx ON interfaces (status, id);
CREATE INDEX interfaces_speed_mbps_idx ON interfaces (speed_mbps NULLS FIRST, id);
CREATE INDEX interfaces_mac_address_idx ON interfaces (mac_address, id);
CREATE INDEX interfaces_ip_address_idx ON interfaces (ip_address, id);

CREATE TABLE vlans (
    id                   text COLLATE "C" NOT NULL CONSTRAINT vlans_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    vlan_id              bigint NOT NULL CHECK (vlan_id >= 1 AND vlan_id <= 4094),
    name                 text COLLATE "C" NOT NULL CHECK (name <> ''),
    description          text COLLATE "C" NOT NULL,
    status               text COLLATE "C" NOT NULL CHECK (status IN ('active', 'inactive', 'reserved', 'deprecated')),
    location_id          text COLLATE "C" CONSTRAINT vlans_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    subnet_cidr          text COLLATE "C" NOT NULL,
    gateway_ip           text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX vlans_location_id_vlan_id_key ON vlans (location_id, vlan_id) WHERE location_id IS NOT NULL;
CREATE INDEX vlans_created_at_idx ON vlans (created_at, id);
CREATE INDEX vlans_vlan_id_idx ON vlans (vlan_id, id);
CREATE INDEX vlans_name_idx ON vlans (name, id);

CREATE TABLE links (
    id                   text COLLATE "C" NOT NULL CONSTRAINT links_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    a_interface_id       text COLLATE "C" NOT NULL CONSTRAINT links_a_interface_id_fkey REFERENCES interfaces (id) ON DELETE CASCADE,
    b_interface_id       text COLLATE "C" NOT NULL CONSTRAINT links_b_interface_id_fkey REFERENCES interfaces (id) ON DELETE CASCADE,
    type                 text COLLATE "C" NOT NULL,
    status               text COLLATE "C" NOT NULL CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down')),
    discovery            text COLLATE "C" NOT NULL,
    last_seen            timestamptz,
    CHECK (a_interface_id < b_interface_id)
);
CREATE UNIQUE INDEX links_a_interface_id_b_interface_id_key ON links (a_interface_id, b_interface_id);
CREATE INDEX links_created_at_idx ON links (created_at, id);
CREATE INDEX links_b_interface_id_idx ON links (b_interface_id, id);

CREATE TABLE events (
    id                   text COLLATE "C" NOT NULL CONSTRAINT events_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    severity             text COLLATE "C" NOT NULL CHECK (severity IN ('critical', 'high', 'medium', 'low', 'warning', 'info')),
    type                 text COLLATE "C" NOT NULL CHECK (type <> ''),
    message              text COLLATE "C" NOT NULL CHECK (message <> ''),
    device_id            text COLLATE "C" CONSTRAINT events_device_id_fkey REFERENCES devices (id) ON DELETE SET NULL,
    interface_id         text COLLATE "C" CONSTRAINT events_interface_id_fkey REFERENCES interfaces (id) ON DELETE SET NULL,
    location_id          text COLLATE "C" CONSTRAINT events_location_id_fkey REFERENCES locations (id) ON DELETE SET NULL,
    acknowledged_at      timestamptz,
    acknowledged_by      text COLLATE "C" CONSTRAINT events_acknowledged_by_fkey REFERENCES users (id) ON DELETE SET NULL
);
CREATE INDEX events_created_at_idx ON events (created_at, id);
CREATE INDEX events_severity_idx ON events (severity, id);
CREATE INDEX events_type_idx ON events (type, id);
CREATE INDEX events_device_id_idx ON events (device_id NULLS FIRST, id);
CREATE INDEX events_interface_id_idx ON events (interface_id NULLS FIRST, id);
CREATE INDEX events_location_id_idx ON events (location_id NULLS FIRST, id);
CREATE INDEX events_acknowledged_by_idx ON events (acknowledged_by NULLS FIRST, id);

CREATE TABLE metrics (
    id                   text COLLATE "C" NOT NULL CONSTRAINT metrics_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    device_id            text COLLATE "C" NOT NULL CONSTRAINT metrics_device_id_fkey REFERENCES devices (id) ON DELETE CASCADE,
    cpu                  double precision CHECK (cpu >= 0 AND cpu <= 100),
    memory               double precision CHECK (memory >= 0 AND memory <= 100),
    temp                 double precision CHECK (temp >= -100 AND temp <= 300),
    uptime_seconds       bigint CHECK (uptime_seconds >= 0),
    ts                   timestamptz
);
CREATE INDEX metrics_created_at_idx ON metrics (created_at, id);
CREATE INDEX metrics_device_id_idx ON metrics (device_id, id);
CREATE INDEX metrics_ts_idx ON metrics (ts NULLS FIRST, id);

CREATE TABLE audit_logs (
    id                   text COLLATE "C" NOT NULL CONSTRAINT audit_logs_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    user_id              text COLLATE "C" CONSTRAINT audit_logs_user_id_fkey REFERENCES users (id) ON DELETE SET NULL,
    actor                text COLLATE "C" NOT NULL,
    action               text COLLATE "C" NOT NULL,
    resource_type        text COLLATE "C" NOT NULL,
    resource_id          text COLLATE "C" NOT NULL,
    ip_address           text COLLATE "C" NOT NULL,
    request_id           text COLLATE "C" NOT NULL,
    changes              text NOT NULL
);
CREATE INDEX audit_logs_created_at_idx ON audit_logs (created_at, id);
CREATE INDEX audit_logs_user_id_idx ON audit_logs (user_id NULLS FIRST, id);
CREATE INDEX audit_logs_resource_id_idx ON audit_logs (resource_id, id);

CREATE TABLE receipts (
    id                   text COLLATE "C" NOT NULL CONSTRAINT receipts_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    owner                text COLLATE "C" NOT NULL CHECK (owner <> ''),
    key                  text COLLATE "C" NOT NULL CHECK (key <> ''),
    request              text COLLATE "C" NOT NULL CHECK (request <> ''),
    status               bigint NOT NULL,
    location             text COLLATE "C" NOT NULL,
    body                 text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX receipts_owner_key_key ON receipts (owner, key);
CREATE INDEX receipts_created_at_idx ON receipts (created_at, id);

CREATE TABLE secrets (
    id                   text COLLATE "C" NOT NULL CONSTRAINT secrets_pkey PRIMARY KEY,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    version              bigint NOT NULL CHECK (version >= 1),
    name                 text COLLATE "C" NOT NULL CHECK (name <> ''),
    value                text COLLATE "C" NOT NULL CHECK (value <> '')
);
CREATE UNIQUE INDEX secrets_name_key ON secrets (name);
CREATE INDEX secrets_created_at_idx ON secrets (created_at, id);

-- The number of records with a value in a field, and of all records, with an empty field and
-- value. A count is the sum of its slots.
CREATE TABLE tallies (
    resource text   COLLATE "C" NOT NULL,
    field    text   COLLATE "C" NOT NULL,
    value    text   COLLATE "C" NOT NULL,
    slot     bigint NOT NULL,
    n        bigint NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (resource, field, value, slot)
);

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
