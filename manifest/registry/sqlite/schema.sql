-- Sorted by name, because short texts are searched by reading it in this order.
CREATE TABLE servers (
	name TEXT PRIMARY KEY,
	id INTEGER NOT NULL UNIQUE, -- in search
	text TEXT NOT NULL -- of the latest version, folded
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1, tokenize="trigram case_sensitive 1", detail=full);

-- Times are microseconds since 1970.
CREATE TABLE versions (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	version TEXT NOT NULL,
	status TEXT NOT NULL,
	message TEXT NOT NULL,
	status_changed INTEGER NOT NULL,
	published INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	latest INTEGER NOT NULL,
	size INTEGER NOT NULL, -- of the manifest
	UNIQUE (name, version)
) STRICT;
CREATE INDEX versions_latest ON versions (name, version) WHERE latest = 1;
CREATE INDEX versions_updated ON versions (updated, name, version);

CREATE TABLE manifests (
	id INTEGER PRIMARY KEY, -- of the version
	text TEXT NOT NULL
) STRICT;

CREATE TABLE mirror (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	position TEXT NOT NULL
) STRICT;
