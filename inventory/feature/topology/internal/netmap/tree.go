package netmap

import (
	"math"
	"slices"
	"strings"
)

// maxLayers is the maximum number of layers of a tree. A network with more is laid out by forces, and a chain or a ring
// of more than maxStrand devices as such.
const (
	maxLayers = 12
	maxStrand = 7
)

// layerSpace is the space between a row of devices and those below it.
const layerSpace = 40.0

// ranks are words in names of roles, from the border of a network to its edge. The first one that a name has
// counts.
var ranks = []struct {
	word string
	rank int
}{
	{"access-point", 6},
	{"access point", 6},
	{"server", 6},
	{"firewall", 1},
	{"core", 2},
	{"spine", 2},
	{"dist", 3},
	{"aggreg", 3},
	{"leaf", 4},
	{"access", 4},
	{"switch", 4},
	{"router", 0},
	{"wan", 0},
	{"edge", 0},
	{"border", 0},
}

// unranked is the rank of devices of other roles.
const unranked = 5

// rank returns how far from the border of the network devices of a role are.
func rank(role string) int {
	role = strings.ToLower(role)
	for _, r := range ranks {
		if strings.Contains(role, r.word) {
			return r.rank
		}
	}
	return unranked
}

// branch is some devices of one layer, and the branches below them.
type branch struct {
	members  []int
	children []*branch
}

// layers returns the distance of each node of a connected network from the nearest of its first devices by rank,
// or from its center if most devices have the first rank.
func (n net) layers(ranks []int) (layer []int, count int) {
	first := slices.Min(ranks)
	var top []int
	for i, r := range ranks {
		if r == first {
			top = append(top, i)
		}
	}
	if len(top) > 2 && 2*len(top) > len(n) {
		top = []int{n.center()}
	}
	layer = make([]int, len(n))
	order, before := n.walk(top)
	for _, i := range order[len(top):] {
		layer[i] = layer[before[i]] + 1
	}
	return layer, layer[order[len(order)-1]] + 1
}

// branches returns a connected network as a tree: devices that have devices below them in common are one branch.
// It returns nil for a network with too many layers, a long chain and a large ring.
func (n net) branches(ranks []int) *branch {
	layer, count := n.layers(ranks)
	if strand, _ := n.strand(); count > maxLayers || len(strand) > maxStrand {
		return nil
	}
	together := make([]int, len(n)) // a device of the same branch, itself for the first one
	for i := range together {
		together[i] = i
	}
	var first func(i int) int
	first = func(i int) int {
		if together[i] != i {
			together[i] = first(together[i])
		}
		return together[i]
	}
	join := func(a, b int) { a, b = first(a), first(b); together[max(a, b)] = min(a, b) }
	inLayer := make([][]int, count)
	for i, l := range layer {
		inLayer[l] = append(inLayer[l], i)
	}
	above := map[int]int{} // a device above a branch
	for l := count - 1; l > 0; l-- {
		clear(above)
		for _, i := range inLayer[l] {
			for _, j := range n[i] {
				if layer[j] != l-1 {
					continue
				}
				if other, ok := above[first(i)]; ok {
					join(other, j)
				}
				above[first(i)] = j
			}
		}
	}
	for _, i := range inLayer[0] {
		join(inLayer[0][0], i)
	}
	all := map[int]*branch{}
	for l := range count {
		for _, i := range inLayer[l] {
			b := all[first(i)]
			if b == nil {
				b = &branch{}
				all[first(i)] = b
				if l > 0 {
					at := slices.IndexFunc(n[i], func(j int) bool { return layer[j] == l-1 })
					parent := all[first(n[i][at])]
					parent.children = append(parent.children, b)
				}
			}
			b.members = append(b.members, i)
		}
	}
	return all[first(inLayer[0][0])]
}

// grid returns a block of nodes in rows.
func grid(nodes []int, columns int) *block {
	b := &block{nodes: nodes}
	for i := range nodes {
		b.points = append(b.points, point{(float64(i%columns) + 0.5) * cellWidth, (float64(i/columns) + 0.5) * cellHeight})
	}
	rows := (len(nodes) + columns - 1) / columns
	b.width, b.height = float64(min(columns, len(nodes)))*cellWidth, float64(rows)*cellHeight
	return b
}

// block returns the block of a branch: its devices above those of the branches below them.
func (b *branch) block() *block {
	const widest = 12
	head := grid(b.members, widest)
	var below []*block
	var ends []int
	for _, c := range b.children {
		if len(c.children) == 0 && len(c.members) == 1 {
			ends = append(ends, c.members[0])
		} else {
			below = append(below, c.block())
		}
	}
	if len(ends) > 0 {
		below = append(below, grid(ends, int(math.Ceil(math.Sqrt(float64(len(ends)))))))
	}
	if len(below) == 0 {
		return head
	}
	return stack(head, wrap(below, 0.3*cellWidth, layerSpace), layerSpace)
}

// stack returns a block of two blocks, the first one above the other.
func stack(top, bottom *block, space float64) *block {
	all := &block{width: max(top.width, bottom.width), height: top.height + space + bottom.height}
	all.add(top, (all.width-top.width)/2, 0)
	all.add(bottom, (all.width-bottom.width)/2, top.height+space)
	return all
}

// add adds the nodes of another block at a position.
func (b *block) add(other *block, x, y float64) {
	for i, node := range other.nodes {
		b.nodes = append(b.nodes, node)
		b.points = append(b.points, point{x + other.points[i].X, y + other.points[i].Y})
	}
}

// wrap returns a block of blocks in rows, in their order, each row in the middle.
func wrap(blocks []*block, spaceX, spaceY float64) *block {
	area, limit := 0.0, 0.0
	for _, b := range blocks {
		area += (b.width + spaceX) * (b.height + spaceY)
		limit = max(limit, b.width)
	}
	limit = max(limit, math.Sqrt(area*3.2))
	all, rows, width := &block{}, [][]*block{nil}, 0.0
	for _, b := range blocks {
		last := len(rows) - 1
		if len(rows[last]) > 0 && width+spaceX+b.width > limit {
			rows, last, width = append(rows, nil), last+1, 0
		}
		if len(rows[last]) > 0 {
			width += spaceX
		}
		rows[last] = append(rows[last], b)
		width += b.width
		all.width = max(all.width, width)
	}
	for _, row := range rows {
		x, high := -spaceX, 0.0
		for _, b := range row {
			x, high = x+spaceX+b.width, max(high, b.height)
		}
		x = (all.width - x) / 2
		for _, b := range row {
			all.add(b, x, all.height)
			x += b.width + spaceX
		}
		all.height += high + spaceY
	}
	all.height -= spaceY
	return all
}

// strand returns the nodes of a connected network that is a chain or a ring in their order, nil for another network.
func (n net) strand() (order []int, closed bool) {
	links := 0
	for _, linked := range n {
		if links += len(linked); len(linked) > 2 {
			return nil, false
		}
	}
	first := max(0, slices.IndexFunc(n, func(linked []int) bool { return len(linked) < 2 }))
	for at, before := first, -1; ; {
		order = append(order, at)
		next := slices.IndexFunc(n[at], func(j int) bool { return j != before })
		if next < 0 || n[at][next] == first {
			return order, len(n) > 2 && links == 2*len(n)
		}
		at, before = n[at][next], at
	}
}

// line places a network that is a chain in rows, each of which begins below the end of the one before; a large ring as
// well, with a column that leads back; and a small ring on the border of a rectangle. It returns nil for another network. space is the radius around each node that
// it needs beyond that of a link.
func (n net) line(space []float64) []point {
	order, closed := n.strand()
	if order == nil {
		return nil
	}
	width, height := linkLength, cellHeight
	if most := 2 * slices.Max(append(space, 0)); most > linkLength {
		width, height = most, most
	}
	const small = 24
	if closed && len(n) <= small {
		return n.ring(width, height)
	}
	columns := max(1, int(math.Round(math.Sqrt(float64(len(n))*height/width*viewWidth/viewHeight))))
	inRows, bottom := len(n), 0.0
	if closed { // an even number of rows
		rows := 2 * max(1, (len(n)+columns)/(2*columns))
		columns = (len(n) - 2) / rows
		inRows, bottom = rows*columns, height*float64(rows-1)
	}
	points := make([]point, len(n))
	for i, node := range order {
		row, column := i/columns, i%columns
		if row%2 == 1 {
			column = columns - 1 - column
		}
		points[node] = point{float64(column) * width, float64(row) * height}
		if back := i - inRows; back >= 0 {
			points[node] = point{-width, bottom * (1 - float64(back)/float64(len(n)-inRows-1))}
		}
	}
	return points
}

// ring places a network that is one ring on the border of a rectangle, its first node in the middle of the lower
// side, and returns nil for another network.
func (n net) ring(width, height float64) []point {
	order, closed := n.strand()
	if !closed {
		return nil
	}
	half, share := float64(len(n)+4)/2, viewWidth*height/(viewWidth*height+viewHeight*width)
	columns := max(2, int(math.Round(share*half)))
	rows := max(2, int(math.Ceil(half))-columns)
	around := 2 * (columns + rows - 2)
	at := func(i int) point { // from the middle of the lower side to the left
		i = (i + columns/2) % around
		switch right, top := columns-1, rows-1; {
		case i < right:
			return point{float64(right - i), float64(top)}
		case i < right+top:
			return point{0, float64(top - (i - right))}
		case i < 2*right+top:
			return point{float64(i - right - top), 0}
		default:
			return point{float64(right), float64(i - 2*right - top)}
		}
	}
	points := make([]point, len(n))
	for i, node := range order {
		p := at(i * around / len(n))
		points[node] = point{p.X * width, p.Y * height}
	}
	return points
}
