package netmap

// Net and Point are for tests of layouts.
type (
	Net   = net
	Point = point
)

// Layout is the method layout of a network.
func Layout(n Net, group, ranks []int, groups int) []Point {
	return n.layout(&grouping{group: group, ranks: ranks, titles: make([]int, groups), first: -1})
}

// Rank is rank.
func Rank(role string) int { return rank(role) }

// Rows is rows.
func Rows(paths [][]int, nodes int) []Point { return rows(paths, nodes) }
