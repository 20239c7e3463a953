# One target per task; "make" alone lists them.
# It needs Go and a POSIX shell. See CONTRIBUTING.md for what the targets mean.

GOFUMPT     ?= mvdan.cc/gofumpt@v0.12.0
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC       ?= github.com/securego/gosec/v2/cmd/gosec@v2.29.0
GOTESTSUM   ?= gotest.tools/gotestsum@v1.13.0

# The rules of gosec that are not used. Other findings have a reason beside them in the code.
#   G115 integer conversions: it does not see that a value was checked before.
#   G304 files named by a variable: programs open the files that their operator names.
#   G404 math/rand: arch_test.go lists the packages that may import it.
# Examples are left out: one executes what its user names, after asking.
GOSECEXCLUDE = G115,G304,G404

# The duration of each target of "make fuzz", the seconds after which it starts no further one
# (0 means no limit), and the packages.
FUZZTIME     ?= 10s
FUZZBUDGET   ?= 0
FUZZPACKAGES ?= ./...

# The duration of "make soak": of the load, and then of all fuzz targets. Each simulation takes a
# tenth of it.
SOAK ?= 1h

# Set to 1 to make tests without the race detector fail.
ASHLAR_REQUIRE_RACE ?=

# The modules of the repository: the root, and those whose dependencies must stay out of its
# go.mod. Directories named testdata hold fixtures.
MODULES = $(patsubst %/go.mod,%,$(shell find . -name go.mod ! -path '*/testdata/*' | sort))

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-programs test-race test-browser test-long test-soak soak size lint lint-go gosec bench table table-envoy table-quota table-reload table-inventory faults api apidiff fuzz screenshots install release table-manifest table-sizes stranger

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

run: ## start everything in one process on embedded defaults
	go run ./cmd/ashlar

install: ## install all programs where "go install" puts them
	go install ./cmd/...

release: ## build archives, packages, SBOM and checksums of a release in dist
	go run ./cmd/internal/release -o dist

# The SQLite driver, C translated to Go, is not instrumented: it would take ten times as long,
# and the race detector is for our own code.
RACEFLAGS = -race -gcflags=modernc.org/...=-race=false

# The packages that "make test" tests a second time, with the race detector: those that start
# goroutines, and the store in memory. The servers and databases of the inventory, whose tests
# take minutes with it, and the programs are tested with it by "make test-all".
RACEPACKAGES = ./ratelimit/store/memstore $$(grep -rlE '^\s*go [a-zA-Z(.]+\(|\.Go\(' --include='*.go' --exclude='*_test.go' \
	./bookcatalog ./httpx ./internal ./inventory ./manifest ./ratelimit | xargs -n1 dirname | sort -u | \
	grep -vE 'inventory/(httpapi|server|sqlstore|storetest|console)')

# Prints a line for each package, the output of failed tests, and at the end all skipped tests
# with their reasons.
TESTSUM = go run $(GOTESTSUM) --format=pkgname-and-test-fails --format-hide-empty-pkg --

# The race detector needs cgo, a C compiler and the C library's headers. Building a package
# that needs them shows whether they exist, and the reason if not.
RACE = race='$(RACEFLAGS)'; \
	if ! reason=$$(go build -race runtime/cgo 2>&1); then \
		race=; \
		echo "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"; \
		echo "!! NO RACE DETECTOR on this machine:"; \
		echo "$$reason" | sed 's/^/!!   /'; \
		echo "!! Install a C compiler and the C library's headers"; \
		echo "!! (Debian: gcc libc6-dev) and unset CGO_ENABLED."; \
		echo "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"; \
		if [ "$(ASHLAR_REQUIRE_RACE)" = 1 ]; then \
			echo "!! ASHLAR_REQUIRE_RACE=1: refusing to test without it."; exit 1; \
		fi; \
	fi

# Tests keep little memory. To collect garbage less often saves them a sixth of the CPU time.
LESSGC = GOGC=400

test: ## run the tests that every change needs (6 to 9 minutes)
	@$(RACE); \
	if [ -n "$$race" ]; then \
		echo "== go test -short $$race, packages with goroutines"; \
		$(LESSGC) $(TESTSUM) -short $$race $(RACEPACKAGES) || exit 1; \
	fi; \
	echo "== go test -short ./..."; \
	$(LESSGC) $(TESTSUM) -short ./...

# The packages whose tests "make test-all" runs in full with the race detector: they start the
# programs, which are built with it too. Those in a browser run once, without it and by themselves:
# their time is that of the browser.
PROGRAMS = cmd/internal/(attack|e2e)$$

# Prints the packages of which a file matches.
MATCHING = matching() { go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do \
	! grep -qsE "$$1" "$$dir"/$$2 || echo "$$package"; done; }
GOROUTINES = '^\s*go [a-zA-Z(.]+\(|\.Go\('
LONG = 'testing\.Short\(\)|(scale|store|model|schema)test\.'

# Races are found by the tests of -short where there are goroutines; long simulations and measurements run without the
# detector. Tests that "make test" runs in full are not run again.
test-all: test-programs test-browser test-race test-long test-soak ## run what "make test" leaves out (22 to 50 minutes)

test-programs: ## test whole programs, with the race detector where there is a C compiler, and with clients of NetBox
	@$(RACE); echo "== go test $$race, tests of whole programs"; \
	$(LESSGC) $(TESTSUM) $$race -shuffle=on -skip=Soak -timeout=30m $$(go list ./... | grep -E '$(PROGRAMS)') && \
	$(TESTSUM) -run=TestImportFromNetBox ./cmd/inventoryd

test-race: ## run short tests with the race detector, in packages with goroutines
	@$(RACE); $(MATCHING); [ -n "$$race" ] || exit 0; \
	echo "== go test -short $$race, packages with goroutines"; \
	$(LESSGC) $(TESTSUM) -short $$race $$(matching $(GOROUTINES) '*.go' | grep -vE '$(PROGRAMS)')

test-browser: ## test pages in a browser
	@echo "== go test, tests in a browser"; \
	$(LESSGC) $(TESTSUM) -shuffle=on -timeout=30m ./cmd/internal/browsertest

test-long: ## run tests with a short form in full, and those of the other modules
	@$(RACE); $(MATCHING); \
	echo "== go test, tests with a short form"; \
	$(LESSGC) $(TESTSUM) -shuffle=on -skip=TestImportFromNetBox -timeout=30m $$(matching $(LONG) '*_test.go' | grep -vE 'cmd/internal/(attack|browsertest|e2e)$$') || exit 1; \
	for module in $(filter-out .,$(MODULES)); do \
		echo "== $$module: go test $$race"; \
		(cd "$$module" && $(LESSGC) $(TESTSUM) $$race ./...) || exit 1; \
	done

test-soak: ## run a minute of soak
	@$(RACE); $(MAKE) --no-print-directory soak SOAK=30s SOAKFLAGS="$$race" FUZZPACKAGES="./httpx ./manifest ./ratelimit"

soak: ## run load, simulations and fuzz targets for SOAK (1h)
	@seconds=$$(echo $(SOAK) | awk '/h$$/ {u = 3600} /m$$/ {u = 60} /s$$/ {u = 1} {print int($$0 * u)}'); \
	[ "$$seconds" -gt 0 ] || { echo "SOAK=$(SOAK): use a duration such as 60s or 1h"; exit 1; }; \
	echo "== load and simulations of $(SOAK)"; \
	ASHLAR_SOAK=$(SOAK) $(TESTSUM) $(SOAKFLAGS) -count=1 -timeout=0 -run 'Soak|Simulation' \
		$$(grep -rlE --include='*_test.go' '^func Test\w*(Soak|Simulation)' . | xargs -n1 dirname | sort -u) && \
	$(MAKE) --no-print-directory fuzz FUZZTIME=$$((seconds / 60 + 1))s FUZZBUDGET=$$((seconds < 60 ? 60 : seconds))

# Code lines: those of .go files that git tracks, but of tests, without blank lines and comments.
size: ## print the code lines of each folder beside those of BASE
	@count() { git grep -cvE '^[[:space:]]*(//|$$)' $$1 -- '*.go' ':!*_test.go'; }; \
	{ count; count $(BASE); } | awk -F: ' \
		function add(folder) { lines[folder, NF == 3] += $$NF; folders[folder] } \
		{ n = split($$(NF - 1), part, "/"); add(n == 1 ? "." : part[1]); add("total") } \
		part[1] ~ /^(ratelimit|inventory|manifest|cmd|internal)$$/ { add(part[1] "/" (n == 2 ? "." : part[2])) } \
		part[1] == "ratelimit" && part[n - 1] !~ /test$$/ { add("ratelimit (without packages of tests)") } \
		END { for (f in folders) printf "%-45s %8d %8d %+8d\n", f, lines[f, 1], lines[f, 0], lines[f, 0] - lines[f, 1] }' | LC_ALL=C sort | \
		{ printf '%-45s %8s %8s %8s\n' 'code lines' $(BASE) now change; cat; }

lint: lint-go gosec ## check formatting, vet, staticcheck, go.mod and gosec; changes nothing

lint-go: ## check formatting, vet, staticcheck and go.mod
	@unformed=$$(go run $(GOFUMPT) -l .) || exit 1; \
	if [ -n "$$unformed" ]; then \
		echo "not formatted; run: go run $(GOFUMPT) -w ."; echo "$$unformed"; exit 1; \
	fi
	@for module in $(MODULES); do \
		echo "== $$module: vet, staticcheck, tidy"; \
		(cd "$$module" && go vet ./... && go run $(STATICCHECK) ./... && go mod tidy -diff) || exit 1; \
	done

gosec: ## look for what is insecure; compiling gosec takes as long as running it
	@echo "== gosec"; go run $(GOSEC) -quiet -exclude=$(GOSECEXCLUDE) -exclude-dir=examples ./...
	@! grep -rn --include='*.go' '#nosec' . | grep -vE '#nosec( G[0-9]+)+ -- .' || { echo "#nosec needs a rule and a reason: // #nosec G101 -- reason"; exit 1; }

bench: ## run the benchmarks, those against other libraries too
	@for module in $(MODULES); do \
		(cd "$$module" && go test -run '^$$' -bench . -benchmem ./...) || exit 1; \
	done

table: ## measure ratelimitd with each kind of counter store beside a bare gRPC server, and that of COMMIT
	@cmd/internal/ratelimit-load/table

table-envoy: ## measure ratelimitd behind ASHLAR_ENVOY, beside the reference service, the binary REFERENCE
	@cmd/internal/ratelimit-load/table envoy

table-quota: ## measure the CPU of ratelimitd per decision of ASHLAR_ENVOY, by calls and with quotas
	@go test ./cmd/internal/e2e -run '^TestEnvoyQuotaCost$$' -count=1 -v

table-reload: ## measure the latencies of ratelimitd while 10,000 rules change every second
	@cmd/internal/ratelimit-load/table reload

# Flags of the table, such as TABLE="-table.metrics 10000000 -table.growth 1000000 -table.dir DIR".
TABLE ?=

table-inventory: ## measure lists, searches, audit log and metrics of the inventory on both databases
	go test ./inventory/server -run '^TestTable$$' -table -v -timeout 2h $(TABLE)

table-sizes: ## measure memory, disk and CPU of ratelimitd by rules and keys, and of inventoryd by devices (5 minutes)
	@go test ./cmd/internal/e2e -run '^TestSizes$$' -sizes -count=1 -timeout 30m -v | grep -v '^=== '

stranger: ## follow the documentation as three new users, with empty caches of modules and builds; prints the time of each step
	@go test ./cmd/internal/e2e -run '^TestStranger$$' -empty-caches -count=1 -timeout 30m -v | grep -v '^=== '

table-manifest: ## figures of validation, fixes, launch lines, configurations and versions over ASHLAR_MANIFEST_CORPUS
	go test ./manifest/... ./cmd/manifest -run 'Published|TestStart' -v -count=1 | grep -v '^=== '

faults: ## measure ratelimitd under faults of the network and of counter stores (8 minutes)
	go test ./cmd/internal/e2e -run '^TestFaults$$' -faults -v -timeout 20m

screenshots: ## write the pictures of the documentation to docs/images; needs chromium
	ASHLAR_DOC_SCREENSHOTS=$(CURDIR)/docs/images go test ./cmd/internal/browsertest -run '^TestScreenshots$$' -count=1

# The commit or branch that "make apidiff" and "make size" compare with.
BASE    ?= main
APIDIFF ?= golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

api: ## write the listings of exported names in docs/api, which go test . compares
	go test . -run '^TestAPI$$' -update -count=1

apidiff: ## list changes of exported names since BASE, the incompatible ones first
	@old=$$(mktemp -d) && trap 'git worktree remove --force "$$old/tree"; rm -rf "$$old"' EXIT && \
	git worktree add -q --detach "$$old/tree" $(BASE) && \
	(cd "$$old/tree" && go run $(APIDIFF) -m -w "$$old/api" github.com/ashlar-go/ashlar) && \
	go run $(APIDIFF) -m "$$old/api" github.com/ashlar-go/ashlar

# go test fuzzes one target of one package at a time, so they are listed first: the names of a
# package precede its "ok" line. A fuzzer that is interrupted at its time limit sometimes
# reports a failure without a failing input.
fuzz: ## run every fuzz target for FUZZTIME (10s), one after the other
	@list=$$(go test -list '^Fuzz' $(FUZZPACKAGES)) || { echo "$$list"; exit 1; }; \
	targets=$$(echo "$$list" | awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 ":" name[i]; n = 0 }'); \
	start=$$(date +%s); late=0; \
	for target in $$targets; do \
		if [ $(FUZZBUDGET) -gt 0 ] && [ $$(($$(date +%s) - start)) -ge $(FUZZBUDGET) ]; then \
			echo "== FUZZBUDGET is used up, not fuzzed: $$target"; late=$$((late + 1)); continue; \
		fi; \
		echo "== $$target"; \
		out=$$(go test -run '^$$' -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$${target%:*}" 2>&1); code=$$?; \
		case "$$code $$out" in \
			"0 "*) echo "$$out";; \
			*"Failing input"*) echo "$$out"; exit 1;; \
			*"context deadline exceeded"*) echo "== the fuzzer reached its time limit and found nothing";; \
			*) echo "$$out"; exit 1;; \
		esac; \
	done; \
	echo "== $$(echo "$$targets" | grep -c .) fuzz targets, $$late of them not run"
