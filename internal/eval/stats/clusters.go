package stats

import (
	"cmp"
	"maps"
	"slices"
	"sort"
)

// sums are the total of some rows and what they count, see Metric.
type sums struct{ total, count float64 }

func (s *sums) add(o sums)   { s.total += o.total; s.count += o.count }
func (s sums) mean() float64 { return s.total / s.count }

// unit is the rows of one scenario.
type unit struct {
	family  string
	numRows int    // those that the metric does not count among them
	values  []sums // of rows
}

// gather sorts the rows that a metric counts by scenario.
func gather(rows []Row, m Metric) map[string]*unit {
	out := map[string]*unit{}
	for _, r := range rows {
		u := out[r.ScenarioID]
		if u == nil {
			u = &unit{family: r.Family}
			out[r.ScenarioID] = u
		}
		u.numRows++
		if total, count := m.Of(r); count != 0 {
			u.values = append(u.values, sums{total, count})
		}
	}
	maps.DeleteFunc(out, func(_ string, u *unit) bool { return len(u.values) == 0 })
	return out
}

// sum is what an episode of the scenario adds in the mean, see Estimate: how many of its episodes were lost does not
// change its weight. Episodes end in any order, and floating-point sums depend on it, so they are sorted first.
func (u *unit) sum() sums {
	sort.Slice(u.values, func(i, j int) bool {
		a, b := u.values[i], u.values[j]
		return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.count, b.count)) < 0
	})
	var s sums
	for _, v := range u.values {
		s.add(v)
	}
	return sums{s.total / float64(u.numRows), s.count / float64(u.numRows)}
}

// cluster names the piece of evidence that a scenario belongs to: its family, or itself.
func (u *unit) cluster(id string) string {
	if u.family != "" {
		return "family " + u.family
	}
	return "scenario " + id
}

// merge adds up the scenarios of each cluster, in the order of their first scenarios; n is how many scenarios there
// are.
func merge(units map[string]*unit) (cells []sums, n int) {
	at := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(units)) {
		name := units[id].cluster(id)
		i, known := at[name]
		if !known {
			i = len(cells)
			at[name], cells = i, append(cells, sums{})
		}
		cells[i].add(units[id].sum())
	}
	return cells, len(units)
}

// pairByCluster adds up the scenarios that both systems have, by cluster: a cluster's sums of the old and of the new
// system.
func pairByCluster(old, new map[string]*unit) (cells [][2]sums, n int) {
	at := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		other, both := new[id]
		if !both {
			continue
		}
		n++
		name := old[id].cluster(id)
		i, known := at[name]
		if !known {
			i = len(cells)
			at[name], cells = i, append(cells, [2]sums{})
		}
		cells[i][0].add(old[id].sum())
		cells[i][1].add(other.sum())
	}
	return cells, n
}
