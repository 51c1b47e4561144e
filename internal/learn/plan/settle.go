package plan

import (
	"fmt"
	"strings"

	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
)

// Limit is the memory there is for a run, of each device, and what kind it is. Of 0 bytes: nothing is known.
type Limit struct {
	Bytes int64
	Of    string
}

// Open says which settings are left to the plan.
type Open struct {
	MicroBatch bool // beside Recompute alone
	Recompute  bool
	Slots      bool // how many, up to those that are wanted
	Join       bool // whether a sampler has joined weights of its own
	Shard      bool // the weights over the devices
}

// Settlement is what Settle chose, beside what was asked for. The two are the same where no choice helps.
type Settlement struct {
	Asked, Chosen Settings
	Plan          Plan
	Limit         Limit
}

// Fits reports whether the limit holds a run as it is asked for. Where nothing is known of the memory, it does.
func Fits(s model.Spec, o Settings, limit Limit) (bool, error) {
	if limit.Bytes == 0 {
		return true, nil
	}
	p, err := Make(s, o)
	return err == nil && p.Peak().Peak <= limit.Bytes, err
}

// Settle returns settings that the limit holds, with their plan: those given or, where they are too large, others in
// what is open. Where no choice helps, they are those given. Nothing is set aside where that does not fit.
func Settle(s model.Spec, o Settings, open Open, limit Limit) (Settlement, error) {
	p, err := Make(s, o)
	if err == nil && o.Seats > 1 && limit.Bytes > 0 && p.Peak().Peak > limit.Bytes {
		o.Seats = 1
		p, err = Make(s, o)
	}
	x := Settlement{o, o, p, limit}
	if err != nil || x.Holds() {
		return x, err
	}
	var tries []Settings
	if open.Recompute && open.MicroBatch {
		chosen, _, ok, err := Propose(s, o, limit.Bytes)
		if err != nil {
			return x, err
		}
		if ok && chosen.Slots == o.Slots {
			tries = append(tries, chosen)
		}
	}
	again := o
	again.Train.Recompute = train.RecomputeLayer
	sharded := again
	sharded.ShardWeights = true
	for _, try := range append(tries, again, sharded) {
		if try.ShardWeights && !o.ShardWeights && (!open.Shard || o.Devices < 2) ||
			try.Train.Recompute != o.Train.Recompute && !open.Recompute {
			continue // this is not left to the plan
		}
		if q, err := Make(s, try); err != nil || q.Peak().Peak <= limit.Bytes {
			x.Chosen, x.Plan = try, q
			if err == nil && open.Recompute {
				err = x.keep(s)
			}
			return x, err
		}
	}
	return x, nil
}

// keeps are how many tokens may be computed at one time and keep their layers, the most first.
var keeps = []int{16384, 8192, 4096}

// keep has short rows keep their layers, as long ones as the limit holds, where the longest cannot.
func (x *Settlement) keep(s model.Spec) error {
	if x.Chosen.Train.Recompute != train.RecomputeLayer || x.Chosen.ShardWeights {
		return nil
	}
	for _, tokens := range keeps {
		try := x.Chosen
		if try.Train.KeepTokens = tokens; try.Train.KeptRow(try.Row) == 0 || try.Train.KeptRow(try.Row) >= try.Row {
			continue
		}
		p, err := Make(s, try)
		if err != nil {
			return err
		}
		if p.Peak().Peak <= x.Limit.Bytes {
			x.Chosen, x.Plan = try, p
			return nil
		}
	}
	return nil
}

// Holds reports whether the limit holds it, as far as that is known.
func (x Settlement) Holds() bool { return x.Limit.Bytes == 0 || x.Plan.Peak().Peak <= x.Limit.Bytes }

// Layers reports whether layers are computed again.
func (x Settlement) Layers() bool {
	return x.Asked.Row > 0 && x.Chosen.Train.Recompute == train.RecomputeLayer
}

// Fewer reports whether fewer rows are computed at once than asked for.
func (x Settlement) Fewer() bool { return x.Chosen.Train.MicroBatch != x.Asked.Train.MicroBatch }

// Fits reports whether the memory holds it. Where rows may be shorter than planned (exact is false), rows are computed
// fewer at once only where layers are computed again too.
func (x Settlement) Fits(exact bool) bool {
	return x.Holds() && (exact || x.Layers() || !x.Fewer())
}

// String says what is planned, and what was chosen.
func (x Settlement) String() string {
	how := ""
	if x.Chosen.ShardWeights {
		how = fmt.Sprintf(" on each of %d devices, which share the weights", x.Chosen.Devices)
	}
	if x.Fewer() {
		how += fmt.Sprintf(", with %d rows at once", x.Chosen.Train.MicroBatch)
	}
	if x.Layers() {
		how += ", each layer computed again in the backward pass"
		if n := x.Chosen.Train.KeepTokens; n > 0 {
			how += fmt.Sprintf(" where more than %d tokens are computed at once", n)
		}
	}
	return fmt.Sprintf("memory: %s planned%s, %s %s", GiB(x.Plan.Peak().Peak), how, GiB(x.Limit.Bytes), x.Limit.Of)
}

// TooLarge is the error of a run that the limit does not hold, with settings it could hold. Of a run whose rows are not
// known yet (exact is false) the shortest must fit: where only the longest would not, that is a warning.
func TooLarge(s model.Spec, o Settings, limit Limit, exact bool) (warning string, err error) {
	p, err := Make(s, o)
	if err != nil {
		return "", err
	}
	smaller, proposed, ok, err := Propose(s, o, limit.Bytes)
	if err != nil {
		return "", err
	}
	next := "use a smaller base model, or a machine with more memory"
	if ok {
		next = "set " + proposal(o, smaller) + ", which takes " + GiB(proposed.Peak().Peak)
	}
	next += "; engine.memory overrides what is free"
	if !exact {
		short := o
		short.Row = min(o.Row, 2)
		least, err := Make(s, short)
		if err != nil {
			return "", err
		}
		if least.Peak().Peak <= limit.Bytes {
			return fmt.Sprintf("training rows of %d tokens, the longest there can be, would take %s; %s are %s: %s",
				o.Row, GiB(p.Peak().Peak), GiB(limit.Bytes), limit.Of, next), nil
		}
	}
	return "", &fault.Error{Code: fault.CodeExhausted, What: "the memory does not hold this run", Where: limit.Of,
		Why: fmt.Sprintf("it takes %s, most of it while the program %s runs; there are %s",
			GiB(p.Peak().Peak), p.Peak().Name, GiB(limit.Bytes)), Next: next}
}

// proposal names the keys in which smaller settings differ.
func proposal(o, smaller Settings) string {
	var keys []string
	if smaller.Slots != o.Slots {
		keys = append(keys, fmt.Sprintf("engine.slots: %d", smaller.Slots))
	}
	if smaller.Train.MicroBatch != o.Train.MicroBatch {
		keys = append(keys, fmt.Sprintf("engine.micro_batch: %d", smaller.Train.MicroBatch))
	}
	if smaller.Train.Recompute != o.Train.Recompute {
		keys = append(keys, fmt.Sprintf("engine.recompute: %s", smaller.Train.Recompute))
	}
	if smaller.ShardWeights != o.ShardWeights {
		keys = append(keys, "engine.shard_weights: on")
	}
	return strings.Join(keys, " and ")
}

// ServingTooLarge is the error of a served model that the limit does not hold, with how many slots it could hold.
func ServingTooLarge(s model.Spec, o Serving, limit Limit) error {
	p, err := MakeServing(s, o)
	if err != nil {
		return err
	}
	next := "lower --context, use a smaller base model, or a machine with more memory"
	smaller, proposed, ok, err := ProposeServing(s, o, limit.Bytes)
	if err != nil {
		return err
	}
	if ok {
		next = fmt.Sprintf("give --slots %d, which takes %s", smaller.Slots, GiB(proposed.Peak().Peak))
	}
	most := p.Peak()
	return &fault.Error{Code: fault.CodeExhausted, What: "the memory does not hold the served model", Where: limit.Of,
		Why: fmt.Sprintf("it takes %s, most of it while the program %s runs; there are %s",
			GiB(most.Peak), most.Name, GiB(limit.Bytes)),
		Next: next + "; engine.memory overrides what is free"}
}

// TooLong is an error where sequences may have more tokens than the model has positions for.
func TooLong(s model.Spec, tokens int, next string) error {
	if tokens <= s.MaxContext {
		return nil
	}
	if s.Rope.Kind == "longrope" && !s.Rope.Long {
		next += fmt.Sprintf("; or set model.context above %d (hone serve: --context), with which the model takes its "+
			"factors for long sequences", s.Rope.OriginalContext)
	}
	return &fault.Error{Code: fault.CodeUsage, What: "sequences can be longer than the base model's positions reach",
		Where: s.Name, Why: fmt.Sprintf("there can be %d tokens in one, and the model has positions for %d",
			tokens, s.MaxContext), Next: next}
}

// GiB is a number of bytes for a person.
func GiB(bytes int64) string { return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30)) }
