package job

import (
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
)

// PairsFile is the pairs that a run of hone dpo learns from.
const PairsFile = "pairs.jsonl"

// Pairs are those of a data file or folder that may be learnt from, and those of its split validation.
type Pairs struct {
	Path             string
	List, Validation []dataset.Pair
}

func ReadPairs(h *host.Host, path string, skip bool) (Pairs, error) {
	if err := RefuseCurated(path); err != nil {
		return Pairs{}, err
	}
	list, report, err := dataset.LoadPairs([]string{path})
	if err == nil {
		err = unread(h, &report, skip)
	}
	p := Pairs{Path: path}
	rows := make([]*dataset.Row, len(list))
	for i := range list {
		rows[i] = &list[i].Chosen // which says the split of both
	}
	holdOut(h, path, rows, nil)
	others := 0
	for _, x := range list {
		switch {
		case x.Chosen.ToLearnFrom():
			p.List = append(p.List, x)
		case x.Chosen.Split == "validation":
			p.Validation = append(p.Validation, x)
		default:
			others++
		}
	}
	if others > 0 {
		h.Say("left out %s of the split test: what is learnt from cannot be measured on", fault.Count(others, "pair"))
	}
	if err == nil && len(p.List) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "no pair may be learnt from", Where: path,
			Why: "all are of other splits than train", Next: "give pairs of the split train"}
	}
	return p, err
}

// Rows are both sides of the pairs that may be learnt from, the preferred one first.
func (p Pairs) Rows() (Rows []dataset.Row) {
	for _, x := range p.List {
		Rows = append(Rows, x.Chosen, x.Rejected)
	}
	return Rows
}

func (p Pairs) Conversations() Conversations { return Conversations{Path: p.Path} }
