//go:build !race

// Left out of -race: plans are made of many small programs, and with it they take minutes.

package basemodel

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/plan"
)

// toy is a small llama.
func toy() model.Spec {
	return model.Spec{
		Config: modelfile.Config{Architecture: "llama", Name: "toy", NumLayers: 2, Hidden: 24, Intermediate: 40,
			NumHeads: 6, NumKVHeads: 2, HeadDim: 4, VocabSize: 259, MaxContext: 8192,
			Rope: modelfile.Rope{Theta: 10000}, NormEps: 1e-5, TiedHead: true},
	}
}

// settleIn settles a configuration's engine by its own limit.
func settleIn(h *host.Host, c *config.Config, s model.Spec, o plan.Settings, exact bool) error {
	limit, err := LimitOf(c.Engine, o.GPU)
	if err != nil {
		return err
	}
	c.Engine, _, err = settle(h, c.Engine, s, o, limit, exact)
	return err
}

// A proposal is the numbers to write into the configuration, and with them the run fits.
func TestProposalFits(t *testing.T) {
	var said bytes.Buffer
	h, s := &host.Host{Talk: sanitize.New(&said)}, toy()
	c := config.Default()
	c.Engine.Slots, c.Engine.MicroBatch, c.LoRA.Rank = 64, 16, 2
	c.Engine.Recompute = "none"
	lora := LoRAOf(c.LoRA)
	o := SettingsOf(c, lora, false, 30, 200, 200)
	p, err := plan.Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int64{2, 8} {
		c.Engine.Memory = float64(p.Peak().Peak/part) / (1 << 30)
		f, ok := settleIn(h, &c, s, o, true).(*fault.Error)
		if !ok || f.Code != fault.CodeExhausted {
			t.Fatalf("1/%d of the memory: %v", part, f)
		}
		numbers := regexp.MustCompile(`engine\.(slots|micro_batch|recompute): (\w+)`).FindAllStringSubmatch(f.Next, -1)
		if len(numbers) == 0 {
			t.Fatalf("no proposal in %q", f.Next)
		}
		smaller := c
		for _, n := range numbers {
			if n[1] == "recompute" {
				smaller.Engine.Recompute = n[2]
				continue
			}
			x, err := strconv.Atoi(n[2])
			if err != nil {
				t.Fatal(err)
			}
			if n[1] == "slots" {
				smaller.Engine.Slots = x
			} else {
				smaller.Engine.MicroBatch = x
			}
		}
		if err := settleIn(h, &smaller, s, SettingsOf(smaller, lora, false, 30, 200, 200), true); err != nil {
			t.Errorf("with %v: %v", numbers, err)
		}
	}
	// Where rows are not known yet, only what is sure is refused.
	c.Engine.Memory = float64(p.Peak().Peak*3/4) / (1 << 30)
	if err := settleIn(h, &c, s, o, false); err != nil ||
		!strings.Contains(said.String(), "warning: training rows of 200 tokens") {
		t.Errorf("%v, %s", err, said.String())
	}
	m := &Model{host: h, File: &modelfile.Model{Config: s.Config}}
	long := plan.Episode{MaxTurns: 2, MaxTokens: s.MaxContext}
	c.Model.Context = 2 * s.MaxContext
	if _, _, _, err := m.Fit(c, "", 100, long, true); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "positions for 8192") {
		t.Errorf("too many tokens: %v", err)
	}
}

// engine.recompute: auto is settled by the plan: layers are computed again where a run fits so and not otherwise, which
// is said, stands in the configuration, and is shown by inspect memory. What the configuration says outright stays.
func TestRecomputeIsSettled(t *testing.T) {
	var said bytes.Buffer
	h, s := &host.Host{Talk: sanitize.New(&said)}, toy()
	auto := config.Default()
	auto.Engine.MicroBatch = 4
	lora := model.LoRA{Rank: 2, Alpha: 2}
	peak := func(recompute string) int64 {
		c := auto
		c.Engine.Recompute = recompute
		p, err := plan.Make(s, SettingsOf(c, lora, false, 1, 0, 500))
		if err != nil {
			t.Fatal(err)
		}
		return p.Peak().Peak
	}
	none, layer := peak("none"), peak("layer")
	for _, c := range []struct {
		set   string
		limit int64
		want  string // empty: refused
	}{
		{"auto", none, "none"},
		{"auto", none - 1<<10, "layer"},
		{"auto", layer - 1<<10, ""},
		{"none", none - 1<<10, ""},
		{"layer", none, "layer"},
	} {
		conf := auto
		conf.Engine.Recompute, conf.Engine.Memory = c.set, float64(c.limit)/(1<<30)
		said.Reset()
		err := settleIn(h, &conf, s, SettingsOf(conf, lora, false, 1, 0, 500), true)
		if c.want == "" && fault.CodeOf(err) != fault.CodeExhausted ||
			c.want != "" && (err != nil || conf.Engine.Recompute != c.want) {
			t.Errorf("%s within %d of %d and %d: %s, %v", c.set, c.limit, none, layer, conf.Engine.Recompute, err)
		}
		if c.want != "" && strings.Contains(said.String(), "computed again") != (c.want == "layer") {
			t.Errorf("%s: said %s", c.set, said.String())
		}
	}
}

// engine.shard_weights: auto is settled too: weights are shared by the devices where no device holds them, for training
// and for sampling; on and off are what they say.
func TestShardingIsSettled(t *testing.T) {
	var said bytes.Buffer
	h, s := &host.Host{Talk: sanitize.New(&said)}, toy()
	lora := model.LoRA{Rank: 2, Alpha: 2}
	for _, private := range []int{0, 16} { // of a slot: without sampling and with it
		base := config.Default()
		base.Engine.MicroBatch, base.Engine.Slots, base.Engine.Devices, base.Engine.Recompute = 1, 1, 2, "layer"
		peak := func(shard string) int64 {
			c := base
			c.Engine.ShardWeights = shard
			p, err := plan.Make(s, SettingsOf(c, lora, false, 1, private, 16))
			if err != nil {
				t.Fatal(err)
			}
			return p.Peak().Peak
		}
		whole, parts := peak("off"), peak("on")
		for _, c := range []struct {
			set     string
			devices int
			limit   int64
			want    string // empty: refused
		}{
			{"auto", 2, whole, "off"},
			{"auto", 2, whole - 1<<10, "on"},
			{"auto", 2, parts - 1<<10, ""},
			{"off", 2, whole - 1<<10, ""},
			{"on", 2, whole, "on"},
			{"auto", 1, whole - 1<<10, ""},
		} {
			conf := base
			conf.Engine.ShardWeights, conf.Engine.Memory, conf.Engine.Devices =
				c.set, float64(c.limit)/(1<<30), c.devices
			said.Reset()
			err := settleIn(h, &conf, s, SettingsOf(conf, lora, false, 1, private, 16), true)
			if c.want == "" && fault.CodeOf(err) != fault.CodeExhausted ||
				c.want != "" && (err != nil || conf.Engine.ShardWeights != c.want) {
				t.Errorf("%s of %d devices within %d of %d and %d: %s, %v",
					c.set, c.devices, c.limit, whole, parts, conf.Engine.ShardWeights, err)
			}
			if strings.Contains(said.String(), "share the weights") != (c.want == "on") ||
				Shards(conf.Engine) != (c.want == "on") {
				t.Errorf("%s: said %s", c.set, said.String())
			}
			if c.set == "off" && c.want == "" && !strings.Contains(err.Error(), "engine.shard_weights: on") {
				t.Errorf("no proposal in %v", err)
			}
		}
	}
}

// Devices that share a machine share its memory; what the configuration says is of each.
func TestMemoryOfEachDevice(t *testing.T) {
	c := config.Default()
	whole, err := LimitOf(c.Engine, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Engine.Devices = 4
	share, err := LimitOf(c.Engine, false)
	if err != nil ||
		whole.Bytes > 0 && (share.Bytes > whole.Bytes/2 || !strings.Contains(share.Of, "each of 4 devices")) {
		t.Errorf("%+v of %+v; %v", share, whole, err)
	}
	c.Engine.Memory = 2
	if set, err := LimitOf(c.Engine, false); err != nil || set.Bytes != 2<<30 {
		t.Errorf("%+v, %v", set, err)
	}
	if o := SettingsOf(c, model.LoRA{}, true, 1, 1, 1); o.Devices != 4 {
		t.Errorf("a plan of %d devices", o.Devices)
	}
}

// More rows at once than a step has would be padding: of an episode's steps too, whose rows are GRPO's. Who has one
// slot has one episode at a time.
func TestMicroBatchIsWithinAStepOfGRPO(t *testing.T) {
	var said bytes.Buffer
	c := config.Default()
	c.Engine.MicroBatch, c.LoRA.Rank, c.GRPO.GroupSize, c.GRPO.ScenariosPerStep, c.Model.Context = 1000, 2, 8, 3, 2048
	m := &Model{host: &host.Host{Talk: sanitize.New(&said)}, File: &modelfile.Model{Config: toy().Config}}
	for slots, want := range map[int]int{0: 2, 1: 1} {
		c.Engine.Slots = slots
		e, _, seats, err := m.Fit(c, "", 1, plan.Episode{MaxTurns: 1, MaxTokens: 32}, true)
		if err != nil || e.MicroBatch != 24 || c.Engine.MicroBatch != 1000 || seats != want {
			t.Errorf("%v, %d rows, %d seats in slots: %d, %s", err, e.MicroBatch, seats, slots, &said)
		}
	}
}

// Rows as trees are planned as trees, whose masks and programs take more: where those do not fit, packing that was
// asked for is refused, and packing that is left to hone is off, which stands in the configuration.
func TestPackedRowsArePlanned(t *testing.T) {
	s := toy()
	s.MaxContext = 2 * treeTokens
	c := config.Default()
	c.Engine.MicroBatch, c.Engine.Recompute, c.LoRA.Rank, c.SFT.BatchSize, c.Engine.Packing = 2, "layer", 2, 4, "tree"
	const length = treeTokens + 16 // longer than a tree of several
	rows := []batch.Sequence{{IDs: make([]int32, length)}, {IDs: make([]int32, length)}}
	lora := LoRAOf(c.LoRA)
	peak := func(row int) int64 {
		o := SettingsOf(c, lora, false, 16, 0, row)
		o.Train.TreeTokens = TreeTokensOf(c.Engine)
		p, err := plan.Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Peak().Peak
	}
	tree := peak(length - 16)
	c.Engine.Packing = "off"
	off := peak(length - 16)
	if tree <= off {
		t.Fatalf("as trees %d bytes, apart %d", tree, off)
	}
	c.Engine.Packing, c.Engine.Devices = "tree", 2
	if each := peak(length - 16); each < tree*3/4 { // its trees are not one
		t.Errorf("of two devices each holds %d bytes, one alone %d", each, tree)
	}
	c.Engine.Devices = 1
	m := &Model{host: &host.Host{Talk: sanitize.New(&bytes.Buffer{})}, File: &modelfile.Model{Config: s.Config}}
	for _, x := range []struct {
		packing string
		limit   int64
		want    string // "": refused
	}{
		{"tree", tree, "tree"}, {"tree", tree - 1<<10, ""}, {"auto", tree, "tree"}, {"auto", tree - 1<<10, "off"},
		{"off", off, "off"},
	} {
		c.Engine.Packing, c.Engine.Memory = x.packing, float64(x.limit)/(1<<30)
		e, err := m.FitRows(c, "", 16, rows)
		if x.want == "" && fault.CodeOf(err) != fault.CodeExhausted ||
			x.want != "" && (err != nil || e.Packing != x.want) {
			t.Errorf("%s within %d of %d and %d: %s, %v", x.packing, x.limit, tree, off, e.Packing, err)
		}
	}
}

// A run whose episodes another server samples is planned with the policy's own loss too, entropies and all.
func TestEpisodesArePlanned(t *testing.T) {
	c := config.Default()
	c.Engine.Slots, c.GRPO.Entropy.Target = 16, 0.2
	for _, tc := range []struct {
		url             string
		trains          bool
		slots, row      int
		policy, entropy bool
	}{
		{"", true, 16, 300, true, true},
		{"", false, 16, 0, false, true},
		{"http://127.0.0.1:8000/v1", true, 0, 300, true, true},
	} {
		c.Sampler.URL = tc.url
		o := ofEpisodes(c, model.LoRA{}, true, 100, 300, tc.trains)
		if o.Slots != tc.slots || o.Row != tc.row || o.Policy != tc.policy || o.Entropies != tc.entropy {
			t.Errorf("%+v: %+v", tc, o)
		}
	}
	c.GRPO.Entropy.Target = 0
	if o := ofEpisodes(c, model.LoRA{}, true, 100, 300, true); o.Entropies {
		t.Error("entropies without a bonus")
	}
}
