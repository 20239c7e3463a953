package netmap

import (
	"cmp"
	"math"
	"slices"
)

// point is a position on the map, in pixels at a zoom of 1.
type point struct{ X, Y float64 }

// Distances of a layout.
const (
	linkLength = 110.0 // between the devices of a link
	cellWidth  = 110.0 // around a device, for its label
	cellHeight = 64.0
	groupSpace = 190.0 // between groups, for borders and titles
	groupAside = 130.0 // between groups beside each other
)

// net is a network to lay out: the neighbours of each node, without duplicates.
type net [][]int

// components returns the nodes of each connected part, the largest part first.
func (n net) components(of []int) (all [][]int) {
	part, seen := n.within(of), make([]bool, len(of))
	for first := range of {
		if seen[first] {
			continue
		}
		nodes, _ := part.walk([]int{first})
		for at, i := range nodes {
			seen[i], nodes[at] = true, of[i]
		}
		all = append(all, nodes)
	}
	slices.SortStableFunc(all, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// within returns the part of a network between some nodes, with indexes of these.
func (n net) within(nodes []int) net {
	at := make(map[int]int, len(nodes))
	for i, node := range nodes {
		at[node] = i
	}
	part := make(net, len(nodes))
	for i, node := range nodes {
		for _, other := range n[node] {
			if j, ok := at[other]; ok {
				part[i] = append(part[i], j)
			}
		}
	}
	return part
}

// center returns the node with most neighbours.
func (n net) center() int {
	best := 0
	for i := range n {
		if len(n[i]) > len(n[best]) {
			best = i
		}
	}
	return best
}

// walk returns the nodes of a connected network in the order of their distance from some of them, and the node
// before each, which is the node itself for these.
func (n net) walk(from []int) (order, before []int) {
	order, before = slices.Clone(from), slices.Repeat([]int{-1}, len(n))
	for _, i := range from {
		before[i] = i
	}
	for at := 0; at < len(order); at++ {
		for _, j := range n[order[at]] {
			if before[j] < 0 {
				before[j] = order[at]
				order = append(order, j)
			}
		}
	}
	return order, before
}

// radial places a connected network in rings around a node, by distance. Each node has a part of the circle
// for the nodes after it.
func (n net) radial(root int) []point {
	order, parent := n.walk([]int{root})
	leaves := make([]float64, len(n)) // below each node, or itself
	for _, i := range slices.Backward(order) {
		leaves[i] = max(leaves[i], 1)
		if i != root {
			leaves[parent[i]] += leaves[i]
		}
	}
	depth, begin, next := make([]int, len(n)), make([]float64, len(n)), make([]float64, len(n))
	ring := []float64{0}
	counts := []float64{1}
	for _, i := range order[1:] {
		depth[i] = depth[parent[i]] + 1
		if depth[i] == len(ring) {
			ring, counts = append(ring, 0), append(counts, 0)
		}
		counts[depth[i]]++
	}
	for d := 1; d < len(ring); d++ {
		ring[d] = max(ring[d-1]+1.3*linkLength, counts[d]*cellHeight/(2*math.Pi))
	}
	share := func(i int) float64 { return leaves[i] / leaves[root] * 2 * math.Pi }
	points := make([]point, len(n))
	for _, i := range order[1:] {
		p := parent[i]
		begin[i] = begin[p] + next[p]
		next[p] += share(i)
		angle := begin[i] + share(i)/2
		points[i] = point{ring[depth[i]] * math.Cos(angle), ring[depth[i]] * math.Sin(angle)}
	}
	return points
}

// spread places a connected network: the nodes with several neighbours by forces between them, with space for
// those that have only one neighbour, which surround it.
func (n net) spread() []point {
	if points := n.line(nil); points != nil {
		return points
	}
	var inner []int
	leaves := make([][]int, len(n))
	for i := range n {
		if len(n[i]) > 1 {
			inner = append(inner, i)
		} else {
			leaves[n[i][0]] = append(leaves[n[i][0]], i)
		}
	}
	core := n.within(inner)
	space := make([]float64, len(inner))
	for at, i := range inner {
		space[at] = linkLength / 2
		if len(leaves[i]) > 0 {
			space[at] = ringOf(len(leaves[i])) + 0.6*cellHeight
		}
	}
	middle := core.line(space)
	if middle == nil {
		middle = core.radial(core.center())
		core.forces(middle, space)
		condense(middle, space)
		separate(middle, space)
	}
	points := make([]point, len(n))
	for at, i := range inner {
		points[i] = middle[at]
	}
	for at, i := range inner {
		away := point{}
		for _, j := range core[at] {
			away.X += middle[at].X - middle[j].X
			away.Y += middle[at].Y - middle[j].Y
		}
		open := 2 * math.Pi / float64(len(leaves[i])+min(len(core[at]), 1))
		first := math.Atan2(away.Y, away.X) - open*float64(len(leaves[i])-1)/2
		for turn, leaf := range leaves[i] {
			angle, radius := first+open*float64(turn), ringOf(len(leaves[i]))
			points[leaf] = point{points[i].X + radius*math.Cos(angle), points[i].Y + radius*math.Sin(angle)}
		}
	}
	return points
}

// ringOf returns the radius of a ring with so many nodes around another one.
func ringOf(nodes int) float64 { return max(0.8*linkLength, float64(nodes)*cellHeight*0.9/(2*math.Pi)) }

// forces moves the points of a connected network, so that linked nodes are near each other and others are
// not. space is the radius around each node that it needs.
func (n net) forces(points []point, space []float64) {
	const rounds = 220
	widest := slices.Max(space)
	reach := math.Inf(1)
	if len(n) > 300 { // only nodes near each other repel, so that the time grows with their number and not its square
		reach = 6 * widest
	}
	scale := 0.0 // of the first positions, in which nodes may be too near each other
	for i := range n {
		for _, j := range n[i] {
			scale = max(scale, (space[i]+space[j])/max(1, math.Hypot(points[i].X-points[j].X, points[i].Y-points[j].Y)))
		}
	}
	for i := range points {
		points[i].X, points[i].Y = points[i].X*scale, points[i].Y*scale
	}
	moves := make([]point, len(n))
	for round := range rounds {
		clear(moves)
		near(points, reach, func(i, j int, dx, dy, square float64) {
			push := (space[i] + space[j]) * (space[i] + space[j]) / square
			moves[i].X += dx * push
			moves[i].Y += dy * push
		})
		for i := range n {
			for _, j := range n[i] {
				dx, dy := points[j].X-points[i].X, points[j].Y-points[i].Y
				pull := math.Hypot(dx, dy) / (space[i] + space[j])
				moves[i].X += dx * pull
				moves[i].Y += dy * pull
			}
		}
		most := widest * (1 - float64(round)/rounds) / 2
		for i := range n {
			if length := math.Hypot(moves[i].X, moves[i].Y); length > 0 {
				step := min(length, most) / length
				points[i].X += moves[i].X * step
				points[i].Y += moves[i].Y * step
			}
		}
	}
}

// condense moves points nearer to each other if they need little of the space that they are in, as those of a network
// of long chains, and turns what is higher than wide.
func condense(points []point, space []float64) {
	const sparse = 1.5
	low, high := bounds(points)
	width, height, needed := high.X-low.X, high.Y-low.Y, 0.0
	for _, s := range space {
		needed += 4 * s * s
	}
	scale := min(1, math.Sqrt(sparse*needed/max(width*height, 1)))
	for i, p := range points {
		if height > width {
			p.X, p.Y = p.Y, p.X
		}
		points[i] = point{p.X * scale, p.Y * scale}
	}
}

// bounds returns the corners of the smallest rectangle with all points.
func bounds(points []point) (low, high point) {
	low, high = point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, p := range points {
		low = point{min(low.X, p.X), min(low.Y, p.Y)}
		high = point{max(high.X, p.X), max(high.Y, p.Y)}
	}
	return low, high
}

// separate moves points apart whose spaces overlap.
func separate(points []point, space []float64) {
	const rounds = 80
	reach := 2 * slices.Max(space)
	moves := make([]point, len(points))
	for range rounds {
		clear(moves)
		near(points, reach, func(i, j int, dx, dy, square float64) {
			distance := math.Sqrt(square)
			if overlap := space[i] + space[j] - distance; overlap > 0 {
				moves[i].X += dx / distance * overlap * 0.3
				moves[i].Y += dy / distance * overlap * 0.3
			}
		})
		for i := range points {
			points[i].X += moves[i].X
			points[i].Y += moves[i].Y
		}
	}
}

// near calls do for each ordered pair of points within a distance, with the way from the second to the first.
func near(points []point, reach float64, do func(i, j int, dx, dy, square float64)) {
	type cell struct{ x, y int }
	cells := make(map[cell][]int, len(points))
	at := func(i int) cell {
		if math.IsInf(reach, 1) {
			return cell{}
		}
		return cell{int(math.Floor(points[i].X / reach)), int(math.Floor(points[i].Y / reach))}
	}
	for i := range points {
		cells[at(i)] = append(cells[at(i)], i)
	}
	for i := range points {
		own := at(i)
		for x := own.x - 1; x <= own.x+1; x++ {
			for y := own.y - 1; y <= own.y+1; y++ {
				for _, j := range cells[cell{x, y}] {
					dx, dy := points[i].X-points[j].X, points[i].Y-points[j].Y
					square := dx*dx + dy*dy
					if i == j || square > reach*reach {
						continue
					}
					if square < 1 { // at the same position: apart in a direction of their own
						dx, dy, square = math.Cos(float64(i)), math.Sin(float64(i)), 1
					}
					do(i, j, dx, dy, square)
				}
			}
		}
	}
}

// block is a rectangle with nodes, whose points begin at 0, 0.
type block struct {
	nodes         []int
	points        []point
	width, height float64
}

// framed returns a block around points, with space for devices and their labels.
func framed(nodes []int, points []point, width, height float64) *block {
	b := &block{nodes: nodes, points: points}
	low, high := bounds(points)
	for i := range points {
		points[i].X += width/2 - low.X
		points[i].Y += height/2 - low.Y
	}
	b.width, b.height = high.X-low.X+width, high.Y-low.Y+height
	return b
}

// pack returns a block of blocks in rows, the highest first. stretch is by how much it is wider than high, if the blocks
// are small.
func pack(blocks []*block, spaceX, spaceY, stretch float64) *block {
	area, widest := 0.0, 0.0
	for _, b := range blocks {
		area += (b.width + spaceX) * (b.height + spaceY)
		widest = max(widest, b.width)
	}
	limit := max(widest, math.Sqrt(area*stretch))
	order := slices.Clone(blocks)
	slices.SortStableFunc(order, func(a, b *block) int { return cmp.Compare(b.height, a.height) })
	all, x, y, row := &block{}, 0.0, 0.0, 0.0
	for _, b := range order {
		if x > 0 && x+b.width > limit {
			x, y, row = 0, y+row+spaceY, 0
		}
		all.add(b, x, y)
		all.width = max(all.width, x+b.width)
		x += b.width + spaceX
		row = max(row, b.height)
	}
	all.height = y + row
	return all
}

// arrange places some nodes: each connected part as a tree, or by forces, the parts beside each other, and the
// devices without links after them.
func (n net) arrange(nodes, ranks []int) *block {
	var blocks []*block
	var single []int
	for _, part := range n.components(nodes) {
		if len(part) == 1 {
			single = append(single, part...)
			continue
		}
		own, of := n.within(part), make([]int, len(part))
		for i, node := range part {
			of[i] = ranks[node]
		}
		tree := own.branches(of)
		if tree == nil {
			points := own.spread()
			for i := range points {
				points[i].X *= 1.2 // labels are wide
			}
			blocks = append(blocks, framed(part, points, cellWidth, cellHeight))
			continue
		}
		b := tree.block()
		for i, at := range b.nodes {
			b.nodes[i] = part[at]
		}
		blocks = append(blocks, b)
	}
	all := packed(blocks, cellWidth/4, cellWidth/4)
	if len(single) == 0 {
		return all
	}
	slices.Sort(single)
	rest := grid(single, max(int(all.width/cellWidth), int(math.Ceil(math.Sqrt(float64(len(single)))))))
	if len(blocks) == 0 {
		return rest
	}
	return stack(all, rest, layerSpace/2)
}

// packed returns a block of blocks, in the rows that suit the window best.
func packed(blocks []*block, spaceX, spaceY float64) *block {
	best := pack(blocks, spaceX, spaceY, 1.7)
	for _, stretch := range []float64{1, 1.3, 2.2, 2.8, 3.6, 5} {
		if b := pack(blocks, spaceX, spaceY, stretch); b.zoom() > 1.02*best.zoom() {
			best = b
		}
	}
	return best
}

// grouping says how the nodes of a network are grouped.
type grouping struct {
	group  []int     // the number of the group of each node
	titles []int     // the numbers of letters of the titles of the groups
	space  []float64 // the widths that the groups have
	below  float64   // the space between groups above each other
	ranks  []int     // of each node
	first  int       // the group above the others, -1 for none
}

// layout places all nodes, those of a group together.
func (n net) layout(of *grouping) []point {
	members := make([][]int, len(of.titles))
	for i, g := range of.group {
		members[g] = append(members[g], i)
	}
	blocks := make([]*block, len(members))
	for g, nodes := range members {
		blocks[g] = n.arrange(nodes, of.ranks)
	}
	of.below = groupSpace
	all := of.together(blocks)
	of.below = max(groupSpace, groupAside+20/all.zoom())
	letter := 8.4 / min(all.zoom(), 1) // titles have one size on the screen
	for g, b := range blocks {
		if space := letter*float64(of.titles[g]) - b.width - cellWidth/2; space > 0 {
			for i := range b.points {
				b.points[i].X += space / 2
			}
			b.width += space
		}
		of.space = append(of.space, b.width+cellWidth)
	}
	points := make([]point, len(n))
	all = of.together(blocks)
	for i, node := range all.nodes {
		points[node] = all.points[i]
	}
	return points
}

// The usual size of the window of a map, in pixels.
const (
	viewWidth  = 680.0
	viewHeight = 500.0
)

// together returns a block of the blocks of groups: the first group above the others, or beside them if that suits
// the window better.
func (of *grouping) together(blocks []*block) *block {
	var others []*block
	for g, b := range blocks {
		if g != of.first && len(b.nodes) > 0 {
			others = append(others, b)
		}
	}
	all := packed(others, groupAside, of.below)
	if of.first < 0 {
		return all
	}
	first := blocks[of.first]
	if len(others) == 0 {
		return first
	}
	above := stack(first, all, of.below)
	beside := &block{width: first.width + groupAside + all.width, height: max(first.height, all.height)}
	beside.add(first, 0, 0)
	beside.add(all, first.width+groupAside, 0)
	if beside.zoom() > 1.35*above.zoom() {
		return beside
	}
	return above
}

// zoom returns by how much a block in a frame is larger in a window.
func (b *block) zoom() float64 {
	return min(viewWidth/(b.width+groupSpace), viewHeight/(b.height+groupSpace))
}

// The size of a location on the map.
const (
	placeWidth  = 166.0
	placeHeight = 76.0
)

// overview places locations, those of a region together: a ring as a ring, others by forces.
func (n net) overview(group []int, groups int) []point {
	var blocks []*block
	for g := range groups {
		var nodes []int
		for i := range n {
			if group[i] == g {
				nodes = append(nodes, i)
			}
		}
		var parts []*block
		for _, part := range n.components(nodes) {
			own := n.within(part)
			points := own.ring(placeWidth, placeHeight)
			if points == nil {
				points = []point{{}, {X: cellWidth}}[:min(len(part), 2)]
				if len(part) > 2 {
					points = own.spread()
				}
				for i := range points {
					points[i] = point{points[i].X * placeWidth / cellWidth, points[i].Y * placeHeight / cellHeight}
				}
			} else if g > 0 { // towards the first one
				for i := range points {
					points[i].Y = -points[i].Y
				}
			}
			parts = append(parts, framed(part, points, placeWidth, placeHeight))
		}
		blocks = append(blocks, packed(parts, 0, 0))
	}
	points := make([]point, len(n))
	all := packed(blocks, 0.5*groupSpace, 0.6*groupSpace)
	for i, node := range all.nodes {
		points[node] = all.points[i]
	}
	return points
}

// rows places the nodes of paths in columns, by their position in the first path that has them, and each
// path in a row of its own as far as it shares no nodes. A path without nodes between is in the middle.
func rows(paths [][]int, nodes int) []point {
	const rowHeight = 110.0
	columnWidth, offset := 230.0, 0.0
	for _, path := range paths {
		if len(path) > 6 { // closer to each other, and labels in two rows
			columnWidth, offset = 120, 50
		}
	}
	longer := 0
	for _, path := range paths {
		if len(path) > 2 {
			longer++
		}
	}
	direct := longer < len(paths)
	middle := float64((longer + 1) / 2) // the row of direct paths
	column, sum, times := make([]int, nodes), make([]float64, nodes), make([]float64, nodes)
	widest, row := 0, 0.0
	for _, path := range paths {
		if direct && row == middle {
			row++
		}
		own := row
		if len(path) == 2 {
			own = middle
		} else {
			row++
		}
		for at, i := range path {
			if times[i] == 0 {
				column[i] = at
			}
			sum[i] += own
			times[i]++
		}
		widest = max(widest, len(path)-1)
	}
	points, taken := make([]point, nodes), map[point]bool{}
	for _, path := range paths {
		for at, i := range path {
			if times[i] == 0 { // placed
				continue
			}
			ends := at == 0 || at == len(path)-1
			if at > 0 && ends {
				column[i] = widest
			}
			y := math.Round(2*sum[i]/times[i]) / 2
			if ends && direct {
				y = middle
			}
			p := point{float64(column[i]) * columnWidth, y*rowHeight + offset*float64(column[i]%2)}
			for taken[p] {
				p.Y += rowHeight / 2
			}
			points[i], taken[p], times[i] = p, true, 0
		}
	}
	return points
}
