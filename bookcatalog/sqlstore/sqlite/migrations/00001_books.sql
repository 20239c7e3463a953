-- Strings compare by their bytes. The columns that end in _key are bookcatalog.Keys, by which
-- books are found and sorted.

-- +goose Up
CREATE TABLE books (
    id             TEXT    NOT NULL PRIMARY KEY,
    isbn           TEXT    NOT NULL,
    isbn13         TEXT    NOT NULL,
    title          TEXT    NOT NULL,
    author         TEXT    NOT NULL, -- JSON, as are the next one and subjects
    authors        TEXT    NOT NULL,
    publisher      TEXT    NOT NULL,
    published_year INTEGER NOT NULL,
    language       TEXT    NOT NULL,
    pages          INTEGER NOT NULL,
    subjects       TEXT    NOT NULL,
    price_minor    INTEGER NOT NULL,
    currency       TEXT    NOT NULL,
    created_at     INTEGER NOT NULL, -- microseconds since 1970, as updated_at
    updated_at     INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    title_key      TEXT    NOT NULL,
    author_key     TEXT    NOT NULL,
    authors_key    TEXT    NOT NULL,
    text_key       TEXT    NOT NULL,
    subjects_key   TEXT    NOT NULL
);

CREATE UNIQUE INDEX books_isbn13 ON books (isbn13) WHERE isbn13 <> '';
CREATE INDEX books_isbn ON books (isbn);
CREATE INDEX books_title_key ON books (title_key, id);
CREATE INDEX books_author_key ON books (author_key, id);
CREATE INDEX books_published_year ON books (published_year, id);

-- +goose Down
DROP TABLE books;
