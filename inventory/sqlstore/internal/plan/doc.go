// Package plan chooses how a page of records with filters is read: by which index, and with which shape of
// statement. It knows no database: sqlstore describes the query and the numbers of records, and makes the
// statement of the [Plan].
//
// # Which index does this list use?
//
// In PostgreSQL the one that its planner chooses by its statistics. In SQLite, which has none that help (see
// below), [Choose] takes the first row that applies:
//
//	a filter on the id or the first field of a unique key    as SQLite chooses: few records match
//	no filter that an index finds, and an index has them     that index, whose entries are all read, or that of the order
//	no filter that an index finds otherwise                  that of the order
//	the counts say that no record matches                    none: nothing is read
//	equality, by id                                          that of the filter with the least cost
//	a range or several values, by the same field             that of the field, in order
//	matches are a guess, and the first 1,000 records of
//	  the order have a page of them                          that of the order, in order
//	matches are a guess, and they have not                   that of the filter with the least cost, sorted
//	matches are counted                                      that of the filter or of the order: the least cost
//
// The cost is the number of entries that are read, times 1 if the index has the columns of all filters, or else
// 150 for the row. In order, a page of 21 of which one in 10 records matches reads 315 entries; sorted, all that
// match are read, and their rows unless the index has the column of the order too. Only equality (=, in, is null)
// and networks find records by an index here; other filters and texts are compared, and count as if all records matched.
//
// A search reads the index for searches if one of its strings has up to [MaxFew] records, and is else a filter
// without an index. Records of some places are found from the records or from the places ([Places]).
//
// To see the choice for a query, call sqlstore.Store.Explain; to see it for numbers, change the example of
// Choose and run go test ./inventory/sqlstore/internal/plan.
//
// # What statistics can do
//
// Measured with lists of 100,000 devices and 200,000 interfaces: pages with one and two equality filters of
// frequent and rare values, by each order that has an index, the first page and pages after a cursor. Each row
// leaves out a part of what was here before; the times are those of all lists together, beside those with it.
//
//	                                                    time    over 5 ms (before)    slower by half
//	PostgreSQL, statement without a plan                0.8 x    39 of 2280 (29)       41
//	  planned for its values each time                  0.9 x    18 of 1131 (10)       17
//	  and with the conditions of counts (begin)         0.8 x     1 of  511 (7)         4
//	SQLite, statement without a plan                     62 x   241 of  512 (3)       251
//	  after ANALYZE with analysis_limit=1000             95 x   210 of  512 (3)       217
//	  after ANALYZE of all records, sqlite_stat4         35 x   153 of  512 (6)       161
//	  without the look at the first 1,000 records       2.9 x    16 of  512 (3)        14
//	  without reading each value of the order apart     1.0 x    24 of 2280 (6)        22
//	    and with the conditions of counts (begin)       0.9 x     3 of  511 (3)         1
//	  without the index of a frequent filter (+)        0.9 x     7 of 2280 (6)         5
//
// PostgreSQL plans a statement for its values each time if the order is not that of the ids, which takes 0.2 ms: after
// five calls it would plan it for all values, and read in the order of the page what no record of it matches.
//
// So PostgreSQL gets no plan; the values read apart and the + of frequent filters were deleted; the others stay.
// SQLite does not know how much cheaper an entry of an index is than a row, with or without statistics.
//
// What is left: an order by a number that the filter decides (speed=40Gbps by speed_mbps) reads all that comes before,
// 10 to 20 ms.
package plan
