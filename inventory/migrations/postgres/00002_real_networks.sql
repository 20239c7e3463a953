-- Only the fields that identify a record are required. A hostname is unique within its location,
-- and among the devices without one. Interfaces have all states of RFC 2863, speeds below 1 Mbps
-- and an MTU of up to 32 bits.

-- +goose Up
ALTER TABLE locations
    DROP CONSTRAINT locations_city_check,
    DROP CONSTRAINT locations_country_check,
    DROP CONSTRAINT locations_address_check;

ALTER TABLE devices
    DROP CONSTRAINT devices_ip_check,
    DROP CONSTRAINT devices_model_check,
    DROP CONSTRAINT devices_vendor_check,
    DROP CONSTRAINT devices_os_check;
DROP INDEX devices_hostname_key;
CREATE UNIQUE INDEX devices_location_id_hostname_key ON devices (location_id, hostname) WHERE location_id IS NOT NULL;
CREATE UNIQUE INDEX devices_hostname_without_location_id_key ON devices (hostname) WHERE location_id IS NULL;
CREATE INDEX devices_hostname_idx ON devices (hostname, id);

ALTER TABLE interfaces
    DROP CONSTRAINT interfaces_type_check,
    DROP CONSTRAINT interfaces_status_check,
    DROP CONSTRAINT interfaces_admin_status_check,
    DROP CONSTRAINT interfaces_oper_status_check,
    DROP CONSTRAINT interfaces_speed_mbps_check,
    DROP CONSTRAINT interfaces_mtu_check,
    ADD CONSTRAINT interfaces_status_check CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down', 'notpresent', 'lowerlayerdown')),
    ADD CONSTRAINT interfaces_admin_status_check CHECK (admin_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant', 'administratively down', 'notpresent', 'lowerlayerdown')),
    ADD CONSTRAINT interfaces_oper_status_check CHECK (oper_status IN ('', 'up', 'down', 'testing', 'unknown', 'dormant', 'notpresent', 'lowerlayerdown')),
    ADD CONSTRAINT interfaces_speed_mbps_check CHECK (speed_mbps >= 0 AND speed_mbps <= 1000000000),
    ADD CONSTRAINT interfaces_mtu_check CHECK (mtu >= 64 AND mtu <= 4294967295);

ALTER TABLE links
    DROP CONSTRAINT links_status_check,
    ADD CONSTRAINT links_status_check CHECK (status IN ('up', 'down', 'testing', 'unknown', 'dormant', 'administratively down', 'notpresent', 'lowerlayerdown'));

-- +goose Down
SELECT 1 / 0; -- irreversible: records may lack what the earlier schema requires
