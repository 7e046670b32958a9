# Every target walks all modules of the repository: the root and the nested
# ones. `make test` is what CI runs; it needs Go, a C compiler, git, Node 20
# and npm, and fetches the rest, pinned, from the Go proxy and npm.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
MODULES := $(shell find . -name go.mod -not -path '*/node_modules/*' -not -path '*/testdata/*' -exec dirname {} \; | sort)
# How long each fuzz target runs in `make fuzz`.
FUZZTIME ?= 60s

each = @for module in $(MODULES); do echo "== $(1) ($$module)"; (cd $$module && $(2)); done

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: test
test: fmt vet cross lint api unit matrix conformance tour ## all that CI runs

.PHONY: fmt
fmt: ## fail if gofmt would change a file, or a go.mod is not tidy
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(call each,go mod tidy -diff,go mod tidy -diff)

.PHONY: vet
vet: ## go vet
	$(call each,go vet,go vet ./...)

# The descriptor work of stdioguard is different on each system, so the module
# is vetted for the systems that the tests cannot run on.
.PHONY: cross
cross: ## build and vet for the systems that are not this one
	@for target in darwin/arm64 windows/amd64 freebsd/amd64 linux/arm64 js/wasm; do \
		echo "== go build, vet ($$target)"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go build ./... ; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go vet ./stdioguard/ ; \
	done

.PHONY: lint
lint: ## staticcheck
	$(call each,staticcheck,go run $(STATICCHECK) ./...)

.PHONY: api
api: ## fail if the exported API differs from its record in api/
	go run ./internal/api

# REASON is needed where the change breaks users; it goes to api/breaking.txt.
.PHONY: api-update
api-update: ## record the exported API; REASON="..." accepts what breaks users
	go run ./internal/api -update -reason '$(subst ','\'',$(REASON))'

# Clients, a conformance suite and a Node that are not ours, once for whatever
# needs them. Scripts of packages are not run.
NPM := internal/npm
.PHONY: npm
npm: $(NPM)/node_modules/.package-lock.json ## install what internal/npm pins, unless it is there
$(NPM)/node_modules/.package-lock.json: $(NPM)/package-lock.json
	npm ci --prefix $(NPM) --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error

.PHONY: unit
unit: npm ## every test, with the race detector, in random order
	$(call each,go test -race,go test -race -shuffle=on -timeout=15m ./...)

.PHONY: matrix
matrix: ## the oldest Go and the oldest SDK that are supported
	go run ./internal/matrix

# $(1) is what each target gets: a time, or a number of inputs. A time now and
# then ends in "context deadline exceeded" with nothing found, which is the go
# command's own and must not fail CI; a number does not.
fuzz = @for pkg in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -r -n1 dirname | sort -u); do \
	for name in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | cut -c6-); do \
		echo "== fuzz $$pkg $$name for $(1)"; \
		(cd $$pkg && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(1) -fuzzminimizetime 10x .); \
	done; done

.PHONY: fuzz-short
fuzz-short: ## every fuzz target for 3000 inputs
	$(call fuzz,3000x)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s), and the long forms of the tests
	$(call fuzz,$(FUZZTIME))
	$(call each,go test -race (long),STEADY_LONG=1 go test -race -shuffle=on -timeout=60m ./...)

.PHONY: chaos
chaos: ## durable tasks for minutes: processes killed, the database away, clocks apart
	cd tasks/rivertasks && STEADY_LONG=1 go test -race -count=1 -parallel=1 -timeout=30m -v -run 'TestChaos|TestDatabaseAway|TestClockSkew' ./internal/replicas

.PHONY: bench-million
bench-million: ## what a million finished tasks do to creating and looking at one
	cd tasks/rivertasks && STEADY_LONG=1 go test -run '^$$' -bench Million -benchtime 300x -timeout 30m ./internal/replicas

.PHONY: bench
bench: ## what each package and the whole stack cost, as ratios to the bare SDK, into docs/benchmarks.md
	go run ./internal/bench -write

.PHONY: bench-all
bench-all: ## every Go benchmark; the ratios are what counts
	$(call each,go test -bench,go test -run '^$$' -bench . -benchmem ./...)

.PHONY: eval-search
eval-search: ## measure the search of package catalog: SPLIT=<folder of questions> OUT=<folder>
	go run ./internal/eval/search -split $(SPLIT) -out $(OUT)

.PHONY: eval-discovery
eval-discovery: ## measure names and arguments on the cases in SPLIT; predictions go to OUT
	go run ./internal/eval/discovery -split $(SPLIT) -out $(OUT)

.PHONY: peers
peers: npm ## the examples, with clients that are not ours
	cd internal/peers && go test -race -shuffle=on ./...

.PHONY: conformance
conformance: npm ## the official conformance suite: the tasks extension, and nothing worse than the bare SDK, nor through the proxy
	go run ./internal/conformance

.PHONY: tour
tour: ## the mistakes that servers make, without and with steady
	go run ./examples/tour
