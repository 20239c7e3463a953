-- Only the fields that identify a record are required. A hostname is unique within its location,
-- and among the devices without one. Interfaces have all states of RFC 2863, speeds below 1 Mbps
-- and an MTU of up to 32 bits.
--
-- SQLite has no statement that changes a check. A copy of the table takes long with many records,
-- and dropping the old one would delete or change all records that refer to it: this transaction
-- can't switch foreign keys off. So the text of the definition is edited, which SQLite documents
-- for checks that become weaker ("Making Other Kinds Of Table Schema Changes", ALTER TABLE).

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
    'city                 TEXT NOT NULL CHECK (city <> '''')', 'city                 TEXT NOT NULL'),
    'country              TEXT NOT NULL CHECK (country <> '''')', 'country              TEXT NOT NULL'),
    'address              TEXT NOT NULL CHECK (address <> '''')', 'address              TEXT NOT NULL')
    WHERE type = 'table' AND name = 'locations';
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
    'ip                   TEXT NOT NULL CHECK (ip <> '''')', 'ip                   TEXT NOT NULL'),
    'model                TEXT NOT NULL CHECK (model <> '''')', 'model                TEXT NOT NULL'),
    'vendor               TEXT NOT NULL CHECK (vendor <> '''')', 'vendor               TEXT NOT NULL'),
    'os                   TEXT NOT NULL CHECK (os <> '''')', 'os                   TEXT NOT NULL')
    WHERE type = 'table' AND name = 'devices';
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(sql,
    'type                 TEXT NOT NULL CHECK (type <> '''')', 'type                 TEXT NOT NULL'),
    '''dormant'')', '''dormant'', ''notpresent'', ''lowerlayerdown'')'),
    '''administratively down'')', '''administratively down'', ''notpresent'', ''lowerlayerdown'')'),
    'speed_mbps >= 1 ', 'speed_mbps >= 0 '),
    'mtu <= 65535', 'mtu <= 4294967295')
    WHERE type = 'table' AND name = 'interfaces';
UPDATE sqlite_schema SET sql = replace(sql,
    '''administratively down'')', '''administratively down'', ''notpresent'', ''lowerlayerdown'')')
    WHERE type = 'table' AND name = 'links';
PRAGMA writable_schema = RESET;

-- These statements also make other connections read the schema again.
DROP INDEX devices_hostname_key;
CREATE UNIQUE INDEX devices_location_id_hostname_key ON devices (location_id, hostname) WHERE location_id IS NOT NULL;
CREATE UNIQUE INDEX devices_hostname_without_location_id_key ON devices (hostname) WHERE location_id IS NULL;
CREATE INDEX devices_hostname_idx ON devices (hostname, id);

-- +goose Down
SELECT no_way_back FROM devices; -- records may lack what the earlier schema requires
