-- The indexes of lists and the counts of pairs of values are generated from the descriptions
-- (sqlstore). This version keeps programs that do not maintain these counts from the database.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
