# What one does with this repository. `make` alone shows it.

export CARGO ?= cargo
# Cases of each property test in `make fuzz`, and the tests that have some: every reader of outside bytes.
CASES ?= 20000
FUZZED = archive fetch formats html log pagestore sinks tianwang url warc
# Kills of `make chaos`; an outage begins at every fourth.
KILLS ?= 520
# How long `make simulate` runs worlds, or how many; and the seed of the first; none: one by chance.
MINUTES ?= 10
WORLDS ?=
SEED ?=
SIMULATE = $(CARGO) test --locked --profile simulate --features simulate --test simulate --
# What librdkafka is built with, besides a C compiler.
BUILD = cc cxx make pkg-config libssl

.PHONY: help demo build test lint audit bench chaos simulate simulate-planted simulate-repeat fuzz docs dist

help: ## show this
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: ## build Seine and watch it crawl a website of its own
	@scripts/need cargo $(BUILD)
	$(CARGO) run --locked --profile demo -- demo

# As one unit a page takes 1 to 7 % less CPU, and the program a third less space. Tests and benches are many programs: they do without.
build: export CARGO_PROFILE_RELEASE_LTO = true
build: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 1
build: ## build the release binary, target/release/seine, and its debug information beside it
	@scripts/need cargo $(BUILD) objcopy
	$(CARGO) build --locked --release
	scripts/strip target/release/seine

test: ## run every test that must pass
	@scripts/need cargo $(BUILD)
	scripts/test

lint: ## check the format and the lengths of files, and run clippy; warnings are errors
	@scripts/need cargo $(BUILD) rustfmt clippy
	@! find src crates -name '*.rs' -exec wc -l {} + | awk '$$2 != "total" && $$1 > 400 { print $$2 ": " $$1 " lines; 400 at most" }' | grep .
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

audit: ## check the dependencies' licences, sources, yanked versions and advisories
	@scripts/need cargo cc git
	scripts/audit

bench: ## run the benchmarks
	@scripts/need cargo $(BUILD)
	$(CARGO) bench --locked

chaos: ## the long campaign of faults, docs/reliability.md: make chaos KILLS=2000
	@scripts/need cargo $(BUILD)
	SEINE_CHAOS_KILLS=$(KILLS) $(CARGO) test --locked --release --test chaos -- --ignored --nocapture

simulate: ## crawl generated worlds in virtual time: make simulate MINUTES=1 SEED=7
	@scripts/need cargo $(BUILD)
	$(SIMULATE) $(if $(WORLDS),--worlds $(WORLDS),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

simulate-planted: ## plant one bug after the other and see that the simulation finds each
	@scripts/need cargo $(BUILD)
	$(SIMULATE) --planted

simulate-repeat: ## crawl four worlds twice each and see that both runs are the same
	@scripts/need cargo $(BUILD)
	$(SIMULATE)

fuzz: ## run the property tests with many more cases: make fuzz CASES=100000
	@scripts/need cargo $(BUILD)
	PROPTEST_CASES=$(CASES) $(CARGO) test --locked --release $(FUZZED:%=--test %)

docs: ## build the book, target/book, and the code's documentation, target/doc/seine; check the links
	@scripts/need cargo $(BUILD)
	$(CARGO) test --locked --test docs links
	scripts/book
	RUSTDOCFLAGS='-D warnings -A rustdoc::private-intra-doc-links -A rustdoc::bare-urls' \
		$(CARGO) doc --locked --workspace --no-deps --document-private-items

dist: ## make what a release has, in target/dist: archive, Debian package, image, checksums, bill of materials
	@scripts/need cargo $(BUILD) objcopy jq
	scripts/dist
