# What a person does with this tree. Everything but the race detector runs
# without a C compiler.

export CGO_ENABLED = 0

# nginx lives in sbin, which is not on everybody's PATH.
export PATH := $(PATH):/usr/sbin:/usr/local/sbin

PLATFORMS = darwin/amd64 darwin/arm64 windows/amd64 linux/arm64
FUZZTIME  = 30s
KILLS     = 30
SEEDS     = 10
SCHEME    = host
CONNS     = 0
AWAY      = 90m
BENCH     =
PROGRAMS  = 2500
TROUBLES  = 1000

# The packages whose tests start clusters and crawls on the real clock, the longest first.
NODES = internal/chaos cmd/weir internal/node internal/cluster internal/bench internal/sitetest

.PHONY: run demo build test test-nodes lint gofmt vet staticcheck tools check cross race bench books bench-large bench-50m bench-peers bench-wire bench-orders bench-deadlines papers fuzz oracle mesh kill kill-large chaos test-sites

## run, demo: a small web on loopback, crawled with a limit; works offline
run demo:
	go run ./cmd/weir demo

## build: the binary, ./weir
build:
	go build -trimpath -o weir ./cmd/weir

## test: what must hold before a commit, and what CI runs. First what computes, on all
## cores; then what starts nodes, which wait for one another most of the time: many
## of those run at once, and staticcheck has what they leave of the cores
test: tools gofmt vet
	go test -vet=off -timeout 60m $$(go list ./... | grep -v $(NODES:%=-e '^weir/%$$'))
	@$(MAKE) --no-print-directory -j2 staticcheck test-nodes

test-nodes:
	go test -vet=off -p 3 -parallel 8 -timeout 60m $(NODES:%=./%)

## check: test's lints, every platform, and the race detector where it can run
check: lint cross race

lint: gofmt vet staticcheck

gofmt:
	@out=$$($$(go env GOROOT)/bin/gofmt -l .); if [ -n "$$out" ]; then echo "run gofmt -w on:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

staticcheck:
	nice go tool staticcheck ./...

cross:
	@set -e; for p in $(PLATFORMS); do \
		echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./...; \
	done

# The rules and the real sites start no goroutines of ours.
race:
	@if command -v $$(go env CC) >/dev/null; then \
		CGO_ENABLED=1 go test -race -short -timeout 60m $$(go list ./... | grep -v -e /rules$$ -e /sitetest$$); \
	else \
		echo "race: no C compiler ($$(go env CC)), left out"; \
	fi

# The tests on real sites serve Debian packages with Debian's nginx; those of the
# planner compare it with solvers of linear programs, those of the query engine
# with a solver of logic programs; those that break clusters make networks with ip.
tools:
	@missing=; \
	command -v nginx >/dev/null || missing="$$missing nginx-light"; \
	command -v cbc >/dev/null || missing="$$missing coinor-cbc"; \
	command -v glpsol >/dev/null || missing="$$missing glpk-utils"; \
	command -v clingo >/dev/null || missing="$$missing gringo"; \
	command -v ip >/dev/null || missing="$$missing iproute2"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -q && apt-get install -q -y --no-install-recommends $$missing; \
		else \
			echo "missing: run 'apt-get install$$missing' as root, or 'go test -short ./...' to leave out what needs it"; exit 1; \
		fi; \
	fi

## test-sites: all six real sites, with and without requisites
test-sites: tools
	go test -count=1 -v -timeout 60m ./internal/sitetest -sites all

## kill: kill -9 one crawl again and again, and look for what was lost
kill:
	go test -count=1 -v -timeout 60m -run Kill ./internal/node -kills $(KILLS)

## kill-large: the same to a state of ten million URLs; takes ten minutes
kill-large:
	go test -count=1 -v -timeout 60m -run KillGrowing ./internal/node -urls 10000000

## chaos: break five nodes of a cluster in every way for ten minutes, SEEDS times, and look for what was lost;
## then the same after one of three has been away for AWAY. Needs root, and hours: SEEDS=1 AWAY=6m is shorter.
## SCHEME=url (host-8, redirect:over=20, adaptive:over=20) spreads the pages otherwise, as weir submit --scheme; CONNS=4 gives nodes so few
## connections that they leave hosts to one another
chaos: tools
	go test -count=1 -v -timeout 600m -parallel 1 -run TestChaos ./internal/chaos -seeds $(SEEDS) -nodes 5 -minutes 10 -pages 50000 -settle 20m -scheme $(SCHEME) -conns $(CONNS)
	go test -count=1 -v -timeout 600m -run TestAway ./internal/chaos -away $(AWAY) -pages 30000

## fuzz: every fuzz target for FUZZTIME
fuzz:
	@set -e; for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p; \
		done; \
	done

## oracle: PROGRAMS random programs over random webs, as clingo and as the crawler see them
oracle: tools
	go test -count=1 -v -timeout 120m -run Oracle ./query/flow -oracle.programs $(PROGRAMS)

## mesh: TROUBLES random histories of simulated nodes in every kind of trouble
mesh:
	go test -count=1 -v -timeout 120m ./sim/mesh -seeds $(TROUBLES)

## bench: whole crawls with their targets, then a short run of every benchmark;
## BENCH='-runs 5' gives medians
bench: books
	go run ./internal/bench $(BENCH)
	go test -run '^$$' -bench . -benchmem -benchtime 200ms ./...

# The pages of the suite called real are Debian packages.
books:
	@if [ ! -d /usr/share/doc/ant/api ] || ! ls -d /usr/share/doc/postgresql-doc-*/html >/dev/null 2>&1; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -q && apt-get install -q -y --no-install-recommends postgresql-doc ant-doc; \
		else \
			echo "real pages are missing: run 'apt-get install postgresql-doc ant-doc' as root"; \
		fi; \
	fi

## bench-large: ten million URLs, the store alone, 5,000 slow servers; takes an hour.
## BENCH='-minutes 5' ends what grows early
bench-large:
	go run ./internal/bench $(BENCH) large store slow

## bench-50m: fifty million URLs in 1 GB; takes half an hour
bench-50m:
	go run ./internal/bench $(BENCH) large-50m

## bench-peers: other crawlers on the same job
bench-peers:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -q -y --no-install-recommends wget wget2 httrack python3-scrapy; \
	fi
	go run ./internal/bench $(BENCH) peers

## bench-wire: a limit held on the wire, weir's controls and other programs; needs root
## and hours. BENCH='-minutes 1 -seeds 1 -parallel 2 -only "^weir at"' is shorter
bench-wire:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -q -y --no-install-recommends aria2 wget curl; \
	fi
	go run ./internal/bench $(BENCH) wire

## bench-orders: do the orders that win in the laboratory win on the real clock
bench-orders:
	go run ./internal/bench $(BENCH) orders

## bench-deadlines: promises kept on the real clock, and what fair shares would have met; takes
## a quarter of an hour. BENCH='-runs 3' tries three webs, '-seed 4' the fourth
bench-deadlines:
	go run ./internal/bench $(BENCH) deadlines

## papers: the tables and figures of the papers, at a tenth of their size, with live crawls where a paper has them
papers:
	go run ./cmd/weir sim papers --only . --out papers
