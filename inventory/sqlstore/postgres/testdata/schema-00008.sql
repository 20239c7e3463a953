-- Written by pg_dump for TestUpgrade -update, without what depends on the version of the
-- server. This file must not change.
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';
CREATE TABLE public.api_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    user_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    scopes jsonb NOT NULL,
    expires_at timestamp with time zone,
    last_used timestamp with time zone,
    CONSTRAINT api_tokens_hash_check CHECK ((hash <> ''::text)),
    CONSTRAINT api_tokens_name_check CHECK ((name <> ''::text)),
    CONSTRAINT api_tokens_version_check CHECK ((version >= 1))
);
CREATE TABLE public.audit_anchors (
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    pruned bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    CONSTRAINT audit_anchors_pruned_check CHECK ((pruned >= 0))
);
CREATE TABLE public.audit_chain (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL
);
CREATE TABLE public.audit_head (
    id bigint NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_head_id_check CHECK ((id = 1))
);
CREATE TABLE public.audit_logs (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    user_id text COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    resource_type text NOT NULL COLLATE pg_catalog."C",
    resource_id text NOT NULL COLLATE pg_catalog."C",
    ip_address text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    changes text NOT NULL,
    cause text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    places text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT audit_logs_version_check CHECK ((version >= 1))
);
CREATE TABLE public.custom_fields (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    required boolean NOT NULL,
    default_ text NOT NULL COLLATE pg_catalog."C",
    choices jsonb NOT NULL,
    pattern text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT custom_fields_name_check CHECK ((name <> ''::text)),
    CONSTRAINT custom_fields_resource_check CHECK ((resource <> ''::text)),
    CONSTRAINT custom_fields_type_check CHECK ((type = ANY (ARRAY['text'::text, 'integer'::text, 'number'::text, 'boolean'::text, 'date'::text, 'choice'::text, 'url'::text, 'reference'::text]))),
    CONSTRAINT custom_fields_version_check CHECK ((version >= 1))
);
CREATE TABLE public.devices (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    ip text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    vendor text NOT NULL COLLATE pg_catalog."C",
    os text NOT NULL COLLATE pg_catalog."C",
    os_version text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    serial_number text NOT NULL COLLATE pg_catalog."C",
    rack_position text NOT NULL COLLATE pg_catalog."C",
    location_id text COLLATE pg_catalog."C",
    last_seen timestamp with time zone,
    tags jsonb NOT NULL,
    notes text NOT NULL COLLATE pg_catalog."C",
    hostname__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    ip__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT devices_hostname_check CHECK ((hostname <> ''::text)),
    CONSTRAINT devices_status_check CHECK ((status = ANY (ARRAY['active'::text, 'offline'::text, 'maintenance'::text, 'provisioning'::text, 'decommissioned'::text]))),
    CONSTRAINT devices_version_check CHECK ((version >= 1))
);
CREATE TABLE public.events (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    severity text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    message text NOT NULL COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    interface_id text COLLATE pg_catalog."C",
    location_id text COLLATE pg_catalog."C",
    acknowledged_at timestamp with time zone,
    acknowledged_by text COLLATE pg_catalog."C",
    CONSTRAINT events_message_check CHECK ((message <> ''::text)),
    CONSTRAINT events_severity_check CHECK ((severity = ANY (ARRAY['critical'::text, 'high'::text, 'medium'::text, 'low'::text, 'warning'::text, 'info'::text]))),
    CONSTRAINT events_type_check CHECK ((type <> ''::text)),
    CONSTRAINT events_version_check CHECK ((version >= 1))
);
CREATE TABLE public.goose_db_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.goose_db_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.goose_db_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.interfaces (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    admin_status text NOT NULL COLLATE pg_catalog."C",
    oper_status text NOT NULL COLLATE pg_catalog."C",
    speed text NOT NULL COLLATE pg_catalog."C",
    speed_mbps bigint,
    mtu bigint,
    mac_address text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL COLLATE pg_catalog."C",
    ifindex bigint,
    ip_address text NOT NULL COLLATE pg_catalog."C",
    name__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    ip_address__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT interfaces_admin_status_check CHECK ((admin_status = ANY (ARRAY[''::text, 'up'::text, 'down'::text, 'testing'::text, 'unknown'::text, 'dormant'::text, 'administratively down'::text, 'notpresent'::text, 'lowerlayerdown'::text]))),
    CONSTRAINT interfaces_ifindex_check CHECK (((ifindex >= 1) AND (ifindex <= 2147483647))),
    CONSTRAINT interfaces_mtu_check CHECK (((mtu >= 64) AND (mtu <= '4294967295'::bigint))),
    CONSTRAINT interfaces_name_check CHECK ((name <> ''::text)),
    CONSTRAINT interfaces_oper_status_check CHECK ((oper_status = ANY (ARRAY[''::text, 'up'::text, 'down'::text, 'testing'::text, 'unknown'::text, 'dormant'::text, 'notpresent'::text, 'lowerlayerdown'::text]))),
    CONSTRAINT interfaces_speed_mbps_check CHECK (((speed_mbps >= 0) AND (speed_mbps <= 1000000000))),
    CONSTRAINT interfaces_status_check CHECK ((status = ANY (ARRAY['up'::text, 'down'::text, 'testing'::text, 'unknown'::text, 'dormant'::text, 'administratively down'::text, 'notpresent'::text, 'lowerlayerdown'::text]))),
    CONSTRAINT interfaces_version_check CHECK ((version >= 1))
);
CREATE TABLE public.jobs (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    cursor_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    until timestamp with time zone,
    CONSTRAINT jobs_name_check CHECK ((name <> ''::text)),
    CONSTRAINT jobs_version_check CHECK ((version >= 1))
);
CREATE TABLE public.links (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    a_interface_id text NOT NULL COLLATE pg_catalog."C",
    b_interface_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    discovery text NOT NULL COLLATE pg_catalog."C",
    last_seen timestamp with time zone,
    CONSTRAINT links_check CHECK ((a_interface_id < b_interface_id)),
    CONSTRAINT links_status_check CHECK ((status = ANY (ARRAY['up'::text, 'down'::text, 'testing'::text, 'unknown'::text, 'dormant'::text, 'administratively down'::text, 'notpresent'::text, 'lowerlayerdown'::text]))),
    CONSTRAINT links_version_check CHECK ((version >= 1))
);
CREATE TABLE public.locations (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    city text NOT NULL COLLATE pg_catalog."C",
    country text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    site_code text NOT NULL COLLATE pg_catalog."C",
    timezone text NOT NULL COLLATE pg_catalog."C",
    lat double precision,
    lon double precision,
    name__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT locations_check CHECK (((lat IS NULL) = (lon IS NULL))),
    CONSTRAINT locations_lat_check CHECK (((lat >= ('-90'::integer)::double precision) AND (lat <= (90)::double precision))),
    CONSTRAINT locations_lon_check CHECK (((lon >= ('-180'::integer)::double precision) AND (lon <= (180)::double precision))),
    CONSTRAINT locations_name_check CHECK ((name <> ''::text)),
    CONSTRAINT locations_version_check CHECK ((version >= 1))
);
CREATE TABLE public.metric_rollups (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    bucket text NOT NULL COLLATE pg_catalog."C",
    samples bigint NOT NULL,
    cpu_min double precision,
    cpu_avg double precision,
    cpu_max double precision,
    memory_min double precision,
    memory_avg double precision,
    memory_max double precision,
    temp_min double precision,
    temp_avg double precision,
    temp_max double precision,
    uptime_seconds bigint,
    CONSTRAINT metric_rollups_bucket_check CHECK ((bucket <> ''::text)),
    CONSTRAINT metric_rollups_version_check CHECK ((version >= 1))
);
CREATE TABLE public.metrics (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    cpu double precision,
    memory double precision,
    temp double precision,
    uptime_seconds bigint,
    ts timestamp with time zone,
    CONSTRAINT metrics_cpu_check CHECK (((cpu >= (0)::double precision) AND (cpu <= (100)::double precision))),
    CONSTRAINT metrics_memory_check CHECK (((memory >= (0)::double precision) AND (memory <= (100)::double precision))),
    CONSTRAINT metrics_temp_check CHECK (((temp >= ('-100'::integer)::double precision) AND (temp <= (300)::double precision))),
    CONSTRAINT metrics_uptime_seconds_check CHECK ((uptime_seconds >= 0)),
    CONSTRAINT metrics_version_check CHECK ((version >= 1))
);
CREATE TABLE public.metrics_latest (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    cpu double precision,
    memory double precision,
    temp double precision,
    uptime_seconds bigint,
    ts timestamp with time zone
);
CREATE TABLE public.receipts (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL COLLATE pg_catalog."C",
    status bigint NOT NULL,
    location text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT receipts_key_check CHECK ((key <> ''::text)),
    CONSTRAINT receipts_owner_check CHECK ((owner <> ''::text)),
    CONSTRAINT receipts_request_check CHECK ((request <> ''::text)),
    CONSTRAINT receipts_version_check CHECK ((version >= 1))
);
CREATE TABLE public.resets (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    user_id text NOT NULL COLLATE pg_catalog."C",
    code_hash text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    expires_at timestamp with time zone,
    CONSTRAINT resets_account_check CHECK ((account <> ''::text)),
    CONSTRAINT resets_code_hash_check CHECK ((code_hash <> ''::text)),
    CONSTRAINT resets_version_check CHECK ((version >= 1))
);
CREATE TABLE public.secrets (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT secrets_name_check CHECK ((name <> ''::text)),
    CONSTRAINT secrets_value_check CHECK ((value <> ''::text)),
    CONSTRAINT secrets_version_check CHECK ((version >= 1))
);
CREATE TABLE public.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    user_id text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    last_used timestamp with time zone,
    expires_at timestamp with time zone,
    address text NOT NULL COLLATE pg_catalog."C",
    user_agent text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT sessions_version_check CHECK ((version >= 1))
);
CREATE TABLE public.tallies (
    resource text NOT NULL COLLATE pg_catalog."C",
    field text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    slot bigint NOT NULL,
    n bigint NOT NULL
);
CREATE TABLE public.users (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    username text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    inactive_status boolean NOT NULL,
    first_name text NOT NULL COLLATE pg_catalog."C",
    last_name text NOT NULL COLLATE pg_catalog."C",
    password_changed_at timestamp with time zone,
    last_login timestamp with time zone,
    password_hash text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    location_ids jsonb DEFAULT '[]'::jsonb NOT NULL,
    username_key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    must_change_password boolean DEFAULT false NOT NULL,
    CONSTRAINT users_email_check CHECK ((email <> ''::text)),
    CONSTRAINT users_role_check CHECK ((role <> ''::text)),
    CONSTRAINT users_username_check CHECK ((username <> ''::text)),
    CONSTRAINT users_version_check CHECK ((version >= 1))
);
CREATE TABLE public.vlans (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    vlan_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    location_id text COLLATE pg_catalog."C",
    subnet_cidr text NOT NULL COLLATE pg_catalog."C",
    gateway_ip text NOT NULL COLLATE pg_catalog."C",
    name__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    gateway_ip__key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT vlans_name_check CHECK ((name <> ''::text)),
    CONSTRAINT vlans_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'reserved'::text, 'deprecated'::text]))),
    CONSTRAINT vlans_version_check CHECK ((version >= 1)),
    CONSTRAINT vlans_vlan_id_check CHECK (((vlan_id >= 1) AND (vlan_id <= 4094)))
);
INSERT INTO public.audit_anchors (seq, hash, pruned, actor, at) VALUES (0, '\x', 0, '', '2026-11-22 22:06:07.677359+00');
INSERT INTO public.audit_chain (seq, id, hash) VALUES (1, '018f4c2e-7b1a-7c3d-9e4f-000000000011', '\x87999f74209ee9671c8bc3bd6bdbc16e408fe8406057a7aead514595196b1a86');
INSERT INTO public.audit_head (id, seq, hash) VALUES (1, 1, '\x87999f74209ee9671c8bc3bd6bdbc16e408fe8406057a7aead514595196b1a86');
INSERT INTO public.audit_logs (id, created_at, updated_at, version, user_id, actor, action, resource_type, resource_id, ip_address, request_id, changes, cause, places) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000011', '2026-01-01 00:00:00.011+00', '2026-01-01 00:00:00.011+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000002', 'ada', 'update', 'device', '018f4c2e-7b1a-7c3d-9e4f-000000000003', '192.0.2.9', 'r1', '{"notes":{"before":null,"after":"ä"}}', '', '');
INSERT INTO public.devices (id, created_at, updated_at, version, hostname, ip, model, vendor, os, os_version, status, role, serial_number, rack_position, location_id, last_seen, tags, notes, hostname__key, ip__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000003', '2026-01-01 00:00:00.003+00', '2026-01-01 00:00:00.003+00', 1, 'core-1', '2001:db8::1', 'M1', 'V', 'OS', '1.2', 'active', 'core', 'SN1', 'R1-U1', '018f4c2e-7b1a-7c3d-9e4f-000000000001', '2026-03-01 12:00:00.123456+00', '["edge", "a,\"b\""]', 'one' || chr(13) || '
two — 😀', 'core-11', '620010db800000000000000000000000100');
INSERT INTO public.devices (id, created_at, updated_at, version, hostname, ip, model, vendor, os, os_version, status, role, serial_number, rack_position, location_id, last_seen, tags, notes, hostname__key, ip__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000004', '2026-01-01 00:00:00.004+00', '2026-01-01 00:00:00.004+00', 1, 'bare', '192.0.2.1', 'M1', 'V', 'OS', '', 'maintenance', '', '', '', NULL, NULL, '[]', '', 'bare', '4c000020100');
INSERT INTO public.events (id, created_at, updated_at, version, severity, type, message, device_id, interface_id, location_id, acknowledged_at, acknowledged_by) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000009', '2026-01-01 00:00:00.009+00', '2026-01-01 00:00:00.009+00', 1, 'critical', 'security', 'door
open', '018f4c2e-7b1a-7c3d-9e4f-000000000003', '018f4c2e-7b1a-7c3d-9e4f-000000000005', '018f4c2e-7b1a-7c3d-9e4f-000000000001', '2026-03-01 12:00:00.123456+00', '018f4c2e-7b1a-7c3d-9e4f-000000000002');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, true, '2026-11-23 03:36:07.59706');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, true, '2026-11-23 03:36:07.603433');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (3, 2, true, '2026-11-23 03:36:07.670418');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (4, 3, true, '2026-11-23 03:36:07.677359');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (5, 4, true, '2026-11-23 03:36:07.685765');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (6, 5, true, '2026-11-23 03:36:07.702197');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (7, 6, true, '2026-11-23 03:36:07.702897');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (8, 7, true, '2026-11-23 03:36:07.703858');
INSERT INTO public.goose_db_version (id, version_id, is_applied, tstamp) VALUES (9, 8, true, '2026-11-23 03:36:07.704862');
INSERT INTO public.interfaces (id, created_at, updated_at, version, device_id, name, description, type, status, admin_status, oper_status, speed, speed_mbps, mtu, mac_address, mode, ifindex, ip_address, name__key, ip_address__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000005', '2026-01-01 00:00:00.005+00', '2026-01-01 00:00:00.005+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000003', 'eth0', 'uplink', 'fiber', 'up', 'up', 'down', '10Gbps', 1500, 1500, '00:1a:2b:3c:4d:5e', 'trunk', 1500, '192.0.2.1/24', 'eth10', '4c000020119');
INSERT INTO public.interfaces (id, created_at, updated_at, version, device_id, name, description, type, status, admin_status, oper_status, speed, speed_mbps, mtu, mac_address, mode, ifindex, ip_address, name__key, ip_address__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000006', '2026-01-01 00:00:00.006+00', '2026-01-01 00:00:00.006+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000004', 'eth0', '', 'copper', 'up', '', '', '', NULL, NULL, '', '', NULL, '', 'eth10', '');
INSERT INTO public.links (id, created_at, updated_at, version, a_interface_id, b_interface_id, type, status, discovery, last_seen) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000008', '2026-01-01 00:00:00.008+00', '2026-01-01 00:00:00.008+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000005', '018f4c2e-7b1a-7c3d-9e4f-000000000006', 'fiber', 'up', 'lldp', NULL);
INSERT INTO public.locations (id, created_at, updated_at, version, name, city, country, address, site_code, timezone, lat, lon, name__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000001', '2026-01-01 00:00:00.001+00', '2026-01-01 00:00:00.001+00', 1, 'Zürich 1', 'Zürich', 'Switzerland', '1 Bahnhofstrasse', 'ZRH1', 'Europe/Zurich', 47.5, 47.5, 'zürich 11');
INSERT INTO public.metrics (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000010', '2026-01-01 00:00:00.01+00', '2026-01-01 00:00:00.01+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000003', 47.5, 47.5, 47.5, 1500, '2026-03-01 12:00:00.123456+00');
INSERT INTO public.metrics_latest (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000010', '2026-01-01 00:00:00.01+00', '2026-01-01 00:00:00.01+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000003', 47.5, 47.5, 47.5, 1500, '2026-03-01 12:00:00.123456+00');
INSERT INTO public.receipts (id, created_at, updated_at, version, owner, key, request, status, location, body) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000012', '2026-01-01 00:00:00.012+00', '2026-01-01 00:00:00.012+00', 1, '018f4c2e-7b1a-7c3d-9e4f-000000000002', 'k', 'hash', 201, '/devices/x', '{}');
INSERT INTO public.secrets (id, created_at, updated_at, version, name, value) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000013', '2026-01-01 00:00:00.013+00', '2026-01-01 00:00:00.013+00', 1, 'jwt', 'not so secret');
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('metrics_latest', '', '', 0, 0);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('locations', '', '', 13, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('locations', '*', '', 13, 2991624);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('locations', 'country', 'Switzerland', 13, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', '', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', '*', '', 15, 8045291);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'inactive_status', 'false', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'role', 'admin', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'role,inactive_status', '5:adminfalse', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', '', '', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', '*', '', 6, 693273);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'location_id', '018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model', 'M1', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,location_id', '2:M1018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,os', '2:M1OS', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,os_version', '2:M11.2', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,role', '2:M1core', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,status', '2:M1active', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,vendor', '2:M1V', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os', 'OS', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,location_id', '2:OS018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,os_version', '2:OS1.2', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,role', '2:OScore', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,status', '2:OSactive', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version', '1.2', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,location_id', '3:1.2018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,role', '3:1.2core', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,status', '3:1.2active', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'role', 'core', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'role,location_id', '4:core018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status', 'active', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status,location_id', '6:active018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status,role', '6:activecore', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor', 'V', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,location_id', '1:V018f4c2e-7b1a-7c3d-9e4f-000000000001', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,os', '1:VOS', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,os_version', '1:V1.2', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,role', '1:Vcore', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,status', '1:Vactive', 6, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', '', '', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', '*', '', 0, 4527698);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'location_id', '', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model', 'M1', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,location_id', '2:M1', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,os', '2:M1OS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,os_version', '2:M1', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,role', '2:M1', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,status', '2:M1maintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'model,vendor', '2:M1V', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os', 'OS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,location_id', '2:OS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,os_version', '2:OS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,role', '2:OS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os,status', '2:OSmaintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version', '', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,location_id', '0:', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,role', '0:', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'os_version,status', '0:maintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'role', '', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'role,location_id', '0:', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status', 'maintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status,location_id', '11:maintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'status,role', '11:maintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor', 'V', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,location_id', '1:V', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,os', '1:VOS', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,os_version', '1:V', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,role', '1:V', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('devices', 'vendor,status', '1:Vmaintenance', 0, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', '', '', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', '*', '', 4, 7062136);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status', 'up', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,ifindex', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,mode', '2:uptrunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,mtu', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,oper_status', '2:updown', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,speed', '2:up10Gbps', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,speed_mbps', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'ifindex', '1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mode', 'trunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mode,ifindex', '5:trunk1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu', '1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu,ifindex', '4:15001500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu,mode', '4:1500trunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status', 'down', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,ifindex', '4:down1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,mode', '4:downtrunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,mtu', '4:down1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,speed', '4:down10Gbps', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,speed_mbps', '4:down1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed', '10Gbps', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,ifindex', '6:10Gbps1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,mode', '6:10Gbpstrunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,mtu', '6:10Gbps1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,speed_mbps', '6:10Gbps1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps', '1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,ifindex', '4:15001500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,mode', '4:1500trunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,mtu', '4:15001500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status', 'up', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,admin_status', '2:upup', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,ifindex', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,mode', '2:uptrunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,mtu', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,oper_status', '2:updown', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,speed', '2:up10Gbps', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,speed_mbps', '2:up1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type', 'fiber', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,admin_status', '5:fiberup', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,ifindex', '5:fiber1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,mode', '5:fibertrunk', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,mtu', '5:fiber1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,oper_status', '5:fiberdown', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,speed', '5:fiber10Gbps', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,speed_mbps', '5:fiber1500', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,status', '5:fiberup', 4, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', '', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', '*', '', 15, 4947441);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,mode', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,mtu', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,oper_status', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,speed', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'admin_status,speed_mbps', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'ifindex', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mode', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mode,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'mtu,mode', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,mode', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,mtu', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,speed', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'oper_status,speed_mbps', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,mode', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,mtu', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed,speed_mbps', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,ifindex', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,mode', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'speed_mbps,mtu', '0:', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status', 'up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,admin_status', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,ifindex', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,mode', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,mtu', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,oper_status', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,speed', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'status,speed_mbps', '2:up', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type', 'copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,admin_status', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,ifindex', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,mode', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,mtu', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,oper_status', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,speed', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,speed_mbps', '6:copper', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('interfaces', 'type,status', '6:copperup', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('vlans', '', '', 5, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('vlans', '*', '', 5, 13239098);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('vlans', 'location_id', '018f4c2e-7b1a-7c3d-9e4f-000000000001', 5, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('vlans', 'status', 'active', 5, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('vlans', 'status,location_id', '6:active018f4c2e-7b1a-7c3d-9e4f-000000000001', 5, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', '', '', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', '*', '', 1, 10550097);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'discovery', 'lldp', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'status', 'up', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'status,discovery', '2:uplldp', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'type', 'fiber', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'type,discovery', '5:fiberlldp', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('links', 'type,status', '5:fiberup', 1, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', '', '', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', '*', '', 11, 11119263);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'location_id', '018f4c2e-7b1a-7c3d-9e4f-000000000001', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'severity', 'critical', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'severity,location_id', '8:critical018f4c2e-7b1a-7c3d-9e4f-000000000001', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'severity,type', '8:criticalsecurity', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'type', 'security', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('events', 'type,location_id', '8:security018f4c2e-7b1a-7c3d-9e4f-000000000001', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('metrics', '', '', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('metrics_latest', '', '', 11, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', '', '', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'action', 'update', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'action,resource_type', '6:updatedevice', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'actor', 'ada', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'actor,action', '3:adaupdate', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'actor,resource_type', '3:adadevice', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'resource_type', 'device', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'user_id', '018f4c2e-7b1a-7c3d-9e4f-000000000002', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'user_id,action', '36:018f4c2e-7b1a-7c3d-9e4f-000000000002update', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'user_id,actor', '36:018f4c2e-7b1a-7c3d-9e4f-000000000002ada', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('audit_logs', 'user_id,resource_type', '36:018f4c2e-7b1a-7c3d-9e4f-000000000002device', 15, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', '', '', 3, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', '*', '', 3, 3576717);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'inactive_status', 'true', 3, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'role', 'viewer', 3, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('users', 'role,inactive_status', '6:viewertrue', 3, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('receipts', '', '', 3, 1);
INSERT INTO public.tallies (resource, field, value, slot, n) VALUES ('secrets', '', '', 0, 1);
INSERT INTO public.users (id, created_at, updated_at, version, username, email, role, inactive_status, first_name, last_name, password_changed_at, last_login, password_hash, epoch, location_ids, username_key, must_change_password) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000002', '2026-01-01 00:00:00.002+00', '2026-01-01 00:00:00.002+00', 1, 'admin', 'admin@example.org', 'admin', false, '', '', NULL, NULL, '$argon2id$v=19$m=19456,t=2,p=1$UQlbZulBcxPzHgkzd3UtOA$bcTs6lqRhf5ZPXP/xc/BRbz2x5PveFZTWAPwMMNk2WM', 1, '[]', '', false);
INSERT INTO public.users (id, created_at, updated_at, version, username, email, role, inactive_status, first_name, last_name, password_changed_at, last_login, password_hash, epoch, location_ids, username_key, must_change_password) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000014', '2026-01-01 00:00:00.014+00', '2026-01-01 00:00:00.014+00', 1, 'ada', 'ada@example.org', 'viewer', true, 'Ada', 'O''Hara', '2026-03-01 12:00:00.123456+00', '2026-03-01 12:00:00.123456+00', '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA', 3, '[]', '', false);
INSERT INTO public.vlans (id, created_at, updated_at, version, vlan_id, name, description, status, location_id, subnet_cidr, gateway_ip, name__key, gateway_ip__key) VALUES ('018f4c2e-7b1a-7c3d-9e4f-000000000007', '2026-01-01 00:00:00.007+00', '2026-01-01 00:00:00.007+00', 1, 100, 'users', 'desks', 'active', '018f4c2e-7b1a-7c3d-9e4f-000000000001', '192.0.2.0/24', '192.0.2.1', 'users', '4c000020100');
SELECT pg_catalog.setval('public.goose_db_version_id_seq', 9, true);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_anchors
    ADD CONSTRAINT audit_anchors_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.audit_chain
    ADD CONSTRAINT audit_chain_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_logs
    ADD CONSTRAINT audit_logs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.custom_fields
    ADD CONSTRAINT custom_fields_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.goose_db_version
    ADD CONSTRAINT goose_db_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.interfaces
    ADD CONSTRAINT interfaces_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.locations
    ADD CONSTRAINT locations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.metric_rollups
    ADD CONSTRAINT metric_rollups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.metrics_latest
    ADD CONSTRAINT metrics_latest_pkey PRIMARY KEY (device_id);
ALTER TABLE ONLY public.metrics
    ADD CONSTRAINT metrics_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.resets
    ADD CONSTRAINT resets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tallies
    ADD CONSTRAINT tallies_pkey PRIMARY KEY (resource, field, value, slot);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.vlans
    ADD CONSTRAINT vlans_pkey PRIMARY KEY (id);
CREATE INDEX api_tokens_created_at_idx ON public.api_tokens USING btree (created_at, id);
CREATE UNIQUE INDEX api_tokens_hash_key ON public.api_tokens USING btree (hash);
CREATE UNIQUE INDEX api_tokens_user_id_name_key ON public.api_tokens USING btree (user_id, name);
CREATE INDEX audit_logs_action_27c44a19_idx ON public.audit_logs USING btree (action, id) INCLUDE (user_id, actor, resource_type);
CREATE INDEX audit_logs_actor_939d05f5_idx ON public.audit_logs USING btree (actor, id) INCLUDE (user_id, action, resource_type);
CREATE INDEX audit_logs_created_at_2aec0821_idx ON public.audit_logs USING btree (created_at, id) INCLUDE (user_id, actor, action, resource_type);
CREATE INDEX audit_logs_ip_address_2aec0821_idx ON public.audit_logs USING btree (ip_address, id) INCLUDE (user_id, actor, action, resource_type);
CREATE INDEX audit_logs_request_id_2aec0821_idx ON public.audit_logs USING btree (request_id, id) INCLUDE (user_id, actor, action, resource_type);
CREATE INDEX audit_logs_resource_id_2aec0821_idx ON public.audit_logs USING btree (resource_id, id) INCLUDE (user_id, actor, action, resource_type);
CREATE INDEX audit_logs_resource_type_4c47028a_idx ON public.audit_logs USING btree (resource_type, id) INCLUDE (user_id, actor, action);
CREATE INDEX audit_logs_user_id_36700eef_idx ON public.audit_logs USING btree (user_id NULLS FIRST, id) INCLUDE (actor, action, resource_type);
CREATE INDEX custom_fields_created_at_idx ON public.custom_fields USING btree (created_at, id);
CREATE INDEX custom_fields_name_idx ON public.custom_fields USING btree (name, id);
CREATE INDEX custom_fields_resource_idx ON public.custom_fields USING btree (resource, id);
CREATE UNIQUE INDEX custom_fields_resource_name_key ON public.custom_fields USING btree (resource, name);
CREATE INDEX custom_fields_search_d9108bb7 ON public.custom_fields USING gin ((((lower(name) || chr(31)) || lower(label))) public.gin_trgm_ops);
CREATE INDEX custom_fields_updated_at_idx ON public.custom_fields USING btree (updated_at, id);
CREATE INDEX devices_created_at_27e5d99b_idx ON public.devices USING btree (created_at, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE INDEX devices_hostname__key_3de2ed83_idx ON public.devices USING btree (hostname__key, id) INCLUDE (model, vendor, os, status);
CREATE UNIQUE INDEX devices_hostname_without_location_id_key ON public.devices USING btree (hostname) WHERE (location_id IS NULL);
CREATE INDEX devices_ip__key_578a7c95_idx ON public.devices USING btree (ip__key, id) INCLUDE (model, vendor, os, os_version, status, role, ip);
CREATE INDEX devices_last_seen_27e5d99b_idx ON public.devices USING btree (last_seen NULLS FIRST, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE INDEX devices_location_id_27e5d99b_idx ON public.devices USING btree (location_id NULLS FIRST, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE UNIQUE INDEX devices_location_id_hostname_key ON public.devices USING btree (location_id, hostname) WHERE (location_id IS NOT NULL);
CREATE INDEX devices_model_3782a238_idx ON public.devices USING btree (model, id) INCLUDE (vendor, os, os_version, status, role);
CREATE INDEX devices_os_96b0627a_idx ON public.devices USING btree (os, id) INCLUDE (model, vendor, os_version, status, role);
CREATE INDEX devices_os_version_9d8dee78_idx ON public.devices USING btree (os_version, id) INCLUDE (model, vendor, os, status, role);
CREATE INDEX devices_rack_position_27e5d99b_idx ON public.devices USING btree (rack_position, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE INDEX devices_role_9ec9c4f1_idx ON public.devices USING btree (role, id) INCLUDE (model, vendor, os, os_version, status);
CREATE INDEX devices_search_dac31c62 ON public.devices USING gin ((((((((((((lower(hostname) || chr(31)) || lower(ip)) || chr(31)) || lower(model)) || chr(31)) || lower(vendor)) || chr(31)) || lower(serial_number)) || chr(31)) || lower(notes))) public.gin_trgm_ops);
CREATE INDEX devices_serial_number_27e5d99b_idx ON public.devices USING btree (serial_number, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE UNIQUE INDEX devices_serial_number_key ON public.devices USING btree (serial_number) WHERE (serial_number <> ''::text);
CREATE INDEX devices_status_d898467a_idx ON public.devices USING btree (status, id) INCLUDE (model, vendor, os, os_version, role);
CREATE INDEX devices_updated_at_27e5d99b_idx ON public.devices USING btree (updated_at, id) INCLUDE (model, vendor, os, os_version, status, role);
CREATE INDEX devices_vendor_111646f0_idx ON public.devices USING btree (vendor, id) INCLUDE (model, os, os_version, status, role);
CREATE INDEX events_acknowledged_by_46e82e53_idx ON public.events USING btree (acknowledged_by NULLS FIRST, id) INCLUDE (severity, type);
CREATE INDEX events_created_at_46e82e53_idx ON public.events USING btree (created_at, id) INCLUDE (severity, type);
CREATE INDEX events_device_id_46e82e53_idx ON public.events USING btree (device_id NULLS FIRST, id) INCLUDE (severity, type);
CREATE INDEX events_interface_id_46e82e53_idx ON public.events USING btree (interface_id NULLS FIRST, id) INCLUDE (severity, type);
CREATE INDEX events_location_id_46e82e53_idx ON public.events USING btree (location_id NULLS FIRST, id) INCLUDE (severity, type);
CREATE INDEX events_search_ab530a13 ON public.events USING gin (lower(message) public.gin_trgm_ops);
CREATE INDEX events_severity_1303c06b_idx ON public.events USING btree (severity, id) INCLUDE (type);
CREATE INDEX events_type_c98f54e5_idx ON public.events USING btree (type, id) INCLUDE (severity);
CREATE INDEX events_updated_at_46e82e53_idx ON public.events USING btree (updated_at, id) INCLUDE (severity, type);
CREATE INDEX interfaces_admin_status_78ff0d01_idx ON public.interfaces USING btree (admin_status, id) INCLUDE (type, status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_created_at_36178062_idx ON public.interfaces USING btree (created_at, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_description_36178062_idx ON public.interfaces USING btree (description, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_device_id_36178062_idx ON public.interfaces USING btree (device_id, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE UNIQUE INDEX interfaces_device_id_name_key ON public.interfaces USING btree (device_id, name);
CREATE INDEX interfaces_ifindex_05ced5d2_idx ON public.interfaces USING btree (ifindex NULLS FIRST, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode);
CREATE INDEX interfaces_ip_address__key_8a6259c5_idx ON public.interfaces USING btree (ip_address__key, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex, ip_address);
CREATE INDEX interfaces_mac_address_36178062_idx ON public.interfaces USING btree (mac_address, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_mode_a64dbdc2_idx ON public.interfaces USING btree (mode, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, ifindex);
CREATE INDEX interfaces_mtu_3db7b832_idx ON public.interfaces USING btree (mtu NULLS FIRST, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mode, ifindex);
CREATE INDEX interfaces_name__key_b5cc6dcd_idx ON public.interfaces USING btree (name__key, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex, name);
CREATE INDEX interfaces_oper_status_1884335c_idx ON public.interfaces USING btree (oper_status, id) INCLUDE (type, status, admin_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_search_89d4f0f1 ON public.interfaces USING gin ((((((((lower(name) || chr(31)) || lower(description)) || chr(31)) || lower(mac_address)) || chr(31)) || lower(ip_address))) public.gin_trgm_ops);
CREATE INDEX interfaces_speed_d0400cfb_idx ON public.interfaces USING btree (speed, id) INCLUDE (type, status, admin_status, oper_status, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_speed_mbps_5029e45e_idx ON public.interfaces USING btree (speed_mbps NULLS FIRST, id) INCLUDE (type, status, admin_status, oper_status, speed, mtu, mode, ifindex);
CREATE INDEX interfaces_status_1d07a8cd_idx ON public.interfaces USING btree (status, id) INCLUDE (type, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_type_0d25a4dd_idx ON public.interfaces USING btree (type, id) INCLUDE (status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX interfaces_updated_at_36178062_idx ON public.interfaces USING btree (updated_at, id) INCLUDE (type, status, admin_status, oper_status, speed, speed_mbps, mtu, mode, ifindex);
CREATE INDEX jobs_created_at_idx ON public.jobs USING btree (created_at, id);
CREATE UNIQUE INDEX jobs_name_key ON public.jobs USING btree (name);
CREATE INDEX links_a_interface_id_95a9bafb_idx ON public.links USING btree (a_interface_id, id) INCLUDE (type, status, discovery);
CREATE UNIQUE INDEX links_a_interface_id_b_interface_id_key ON public.links USING btree (a_interface_id, b_interface_id);
CREATE INDEX links_b_interface_id_95a9bafb_idx ON public.links USING btree (b_interface_id, id) INCLUDE (type, status, discovery);
CREATE INDEX links_created_at_95a9bafb_idx ON public.links USING btree (created_at, id) INCLUDE (type, status, discovery);
CREATE INDEX links_discovery_8d2872c5_idx ON public.links USING btree (discovery, id) INCLUDE (type, status);
CREATE INDEX links_status_8ad81bf1_idx ON public.links USING btree (status, id) INCLUDE (type, discovery);
CREATE INDEX links_type_61278515_idx ON public.links USING btree (type, id) INCLUDE (status, discovery);
CREATE INDEX links_updated_at_95a9bafb_idx ON public.links USING btree (updated_at, id) INCLUDE (type, status, discovery);
CREATE INDEX locations_city_aff64e4f_idx ON public.locations USING btree (city, id) INCLUDE (country);
CREATE INDEX locations_country_idx ON public.locations USING btree (country, id);
CREATE INDEX locations_created_at_aff64e4f_idx ON public.locations USING btree (created_at, id) INCLUDE (country);
CREATE INDEX locations_name__key_594e0b78_idx ON public.locations USING btree (name__key, id) INCLUDE (country, name);
CREATE INDEX locations_search_f1c550c5 ON public.locations USING gin ((((((((((lower(name) || chr(31)) || lower(city)) || chr(31)) || lower(country)) || chr(31)) || lower(address)) || chr(31)) || lower(site_code))) public.gin_trgm_ops);
CREATE UNIQUE INDEX locations_site_code_key ON public.locations USING btree (site_code) WHERE (site_code <> ''::text);
CREATE INDEX locations_updated_at_aff64e4f_idx ON public.locations USING btree (updated_at, id) INCLUDE (country);
CREATE INDEX metric_rollups_bucket_idx ON public.metric_rollups USING btree (bucket, id);
CREATE UNIQUE INDEX metric_rollups_device_id_bucket_key ON public.metric_rollups USING btree (device_id, bucket);
CREATE INDEX metrics_device_id_idx ON public.metrics USING btree (device_id, ts NULLS FIRST, id);
CREATE INDEX metrics_latest_ts_idx ON public.metrics_latest USING btree (ts NULLS FIRST, id);
CREATE INDEX metrics_ts_idx ON public.metrics USING btree (ts NULLS FIRST, id);
CREATE INDEX receipts_created_at_idx ON public.receipts USING btree (created_at, id);
CREATE UNIQUE INDEX receipts_owner_key_key ON public.receipts USING btree (owner, key);
CREATE UNIQUE INDEX resets_code_hash_key ON public.resets USING btree (code_hash);
CREATE INDEX resets_created_at_idx ON public.resets USING btree (created_at, id);
CREATE INDEX resets_user_id_idx ON public.resets USING btree (user_id, id);
CREATE INDEX secrets_created_at_idx ON public.secrets USING btree (created_at, id);
CREATE UNIQUE INDEX secrets_name_key ON public.secrets USING btree (name);
CREATE INDEX sessions_created_at_idx ON public.sessions USING btree (created_at, id);
CREATE INDEX sessions_user_id_idx ON public.sessions USING btree (user_id, id);
CREATE INDEX users_created_at_27007a66_idx ON public.users USING btree (created_at, id) INCLUDE (role, inactive_status);
CREATE UNIQUE INDEX users_email_key ON public.users USING btree (email);
CREATE INDEX users_inactive_status_4b168d88_idx ON public.users USING btree (inactive_status, id) INCLUDE (role);
CREATE INDEX users_role_5ff7eca9_idx ON public.users USING btree (role, id) INCLUDE (inactive_status);
CREATE INDEX users_search_34419c51 ON public.users USING gin ((((((((lower(username) || chr(31)) || lower(email)) || chr(31)) || lower(first_name)) || chr(31)) || lower(last_name))) public.gin_trgm_ops);
CREATE INDEX users_updated_at_27007a66_idx ON public.users USING btree (updated_at, id) INCLUDE (role, inactive_status);
CREATE UNIQUE INDEX users_username_key ON public.users USING btree (username);
CREATE INDEX users_username_key_27007a66_idx ON public.users USING btree (username_key, id) INCLUDE (role, inactive_status);
CREATE UNIQUE INDEX users_username_key_key ON public.users USING btree (username_key) WHERE (username_key <> ''::text);
CREATE INDEX vlans_created_at_073c1634_idx ON public.vlans USING btree (created_at, id) INCLUDE (status);
CREATE INDEX vlans_location_id_073c1634_idx ON public.vlans USING btree (location_id NULLS FIRST, id) INCLUDE (status);
CREATE UNIQUE INDEX vlans_location_id_vlan_id_key ON public.vlans USING btree (location_id, vlan_id) WHERE (location_id IS NOT NULL);
CREATE INDEX vlans_name__key_1ffb431d_idx ON public.vlans USING btree (name__key, id) INCLUDE (status, name);
CREATE INDEX vlans_search_dd5b04e0 ON public.vlans USING gin ((((((((lower(name) || chr(31)) || lower(description)) || chr(31)) || lower(subnet_cidr)) || chr(31)) || lower(gateway_ip))) public.gin_trgm_ops);
CREATE INDEX vlans_status_idx ON public.vlans USING btree (status, id);
CREATE INDEX vlans_updated_at_073c1634_idx ON public.vlans USING btree (updated_at, id) INCLUDE (status);
CREATE INDEX vlans_vlan_id_073c1634_idx ON public.vlans USING btree (vlan_id, id) INCLUDE (status);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_location_id_fkey FOREIGN KEY (location_id) REFERENCES public.locations(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_acknowledged_by_fkey FOREIGN KEY (acknowledged_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_device_id_fkey FOREIGN KEY (device_id) REFERENCES public.devices(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_interface_id_fkey FOREIGN KEY (interface_id) REFERENCES public.interfaces(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_location_id_fkey FOREIGN KEY (location_id) REFERENCES public.locations(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.interfaces
    ADD CONSTRAINT interfaces_device_id_fkey FOREIGN KEY (device_id) REFERENCES public.devices(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_a_interface_id_fkey FOREIGN KEY (a_interface_id) REFERENCES public.interfaces(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_b_interface_id_fkey FOREIGN KEY (b_interface_id) REFERENCES public.interfaces(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.metric_rollups
    ADD CONSTRAINT metric_rollups_device_id_fkey FOREIGN KEY (device_id) REFERENCES public.devices(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.metrics
    ADD CONSTRAINT metrics_device_id_fkey FOREIGN KEY (device_id) REFERENCES public.devices(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.resets
    ADD CONSTRAINT resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.vlans
    ADD CONSTRAINT vlans_location_id_fkey FOREIGN KEY (location_id) REFERENCES public.locations(id) ON DELETE SET NULL;
