# Nothing but Go is needed: `go run ./cmd/holdfast run` plays the catalogue, `make test` tests everything.
# `make setup` installs what `make test` says it lacks.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
# The packages with goroutines of their own. The race detector builds everything that they
# use a second time, so the packages above these have their turn in make nightly.
RACE = ./lock/... ./internal/toxics ./sim ./internal/live ./internal/live/processes ./internal/live/servers/...
RACE_NIGHTLY = ./lock/... ./faults/... ./sim/... ./internal/live/... ./locktest/...
# A test that may run beside others mostly waits: two for each core.
PARALLEL = -parallel $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

# How long the tests of a package may take. A machine with other work needs many times
# more than an idle one.
TIMEOUT = 30m
# With REQUIRE=1 whatever is missing on this machine is a failure, as in CI.
REQUIRE =
# What was skipped, and the time of each part, for the last lines of make test.
SKIPPED = $(CURDIR)/.skipped
TIMES = $(CURDIR)/.times
export STATICCHECK GOVULNCHECK REQUIRE SKIPPED TIMES
TIMED = scripts/timed

.PHONY: test tests nightly setup lint size unit race guests oldest vuln adapters findings bench bench-judges bench-check bench-locks soak fuzz track-record sweeps outsiders mutation systems help

help:
	@echo "make test    everything: format, vet, staticcheck, tests, race detector, adapters, govulncheck;"
	@echo "             its last lines say what this machine lacks, and REQUIRE=1 makes that a failure"
	@echo "make nightly play everything where make test plays a slice, race more packages, test ZooKeeper"
	@echo "make setup   install what the tests use beside Go: a browser, redis-server, a C compiler, node, PostgreSQL, MariaDB, ZooKeeper"
	@echo "make unit    the tests alone"
	@echo "make size    packages, exported identifiers, lines and dependencies, each with its ceiling"
	@echo "make bench   the benchmarks, as a table"
	@echo "make bench-check   holdfast check of histories of 100,000 to 1,000,000 lock operations"
	@echo "make bench-locks   the reference lock beside others on one redis-server, into docs/bench-locks.md"
	@echo "make soak    the judges of lock histories against one another, HISTORIES=2000000 of them"
	@echo "make fuzz    every fuzz target for FUZZTIME=30s"
	@echo "make track-record   play the gallery and the variations, and write docs/tables/gallery.md and a table of docs/gallery.md"
	@echo "make outsiders      play the locks of locktest/testdata/locks, right and faulty, with SEEDS=1000 seeds, and print what survives"
	@echo "make mutation       change the locks by rule, play a sample of the mutants, and write the survivors and the tables of docs/mutation.md"
	@echo "make adapters       build the adapters of other people's locks, as far as their toolchains are here"
	@echo "make findings       play every lock in every scenario on real servers, and write the table of each page of docs/findings, or of LIBRARY"
	@echo "make placed         place every single fault in each lock, and write the tables of docs/exhaustive.md"
	@echo "make fidelity       compare the simulator with real servers: the one on the PATH, and those of scripts/servers.txt"
	@echo "make systems        play the locks of other systems in HAZARDS, and write the table of docs/systems.md"
	@echo "make survivable     explore the reference locks within their promises, and write the table of docs/exploring.md"
	@echo "make sweeps         measure how likely the hazards are, and write the tables and pictures of docs/sweep.md"
	@echo "make playground     write the playground as files for a web server, the simulator as WebAssembly, into SITE=holdfast-playground"

# The compiler, staticcheck and the tests collect garbage less often, which saves a sixth of
# their time and takes up to twice the memory.
test nightly: export GOGC = 400

# Two groups of tests at a time: while one waits or links, the other has its core.
test:
	@scripts/check-needs
	@$(TIMED) lint scripts/lint ./... ./lock/...
	@$(MAKE) --no-print-directory --jobs=2 tests
	@scripts/summary

tests: unit race guests oldest vuln

# Package internal/nightly tells the tests that the variable is set.
nightly: export HOLDFAST_NIGHTLY = 1
nightly:
	@scripts/check-needs
	@$(MAKE) --no-print-directory adapters
	@$(MAKE) --no-print-directory unit TIMEOUT=3h
	@$(MAKE) --no-print-directory race RACE='$(RACE_NIGHTLY)' TIMEOUT=3h
	@$(MAKE) --no-print-directory zookeeper fidelity
	@scripts/summary

setup:
	@scripts/setup

# What a reader has to find a way through, with a ceiling for each count.
size:
	@go run scripts/size.go

lint:
	scripts/lint ./... ./lock/...
	cd tools && ../scripts/lint ./... && go run ./words

# lint has vetted what the tests of unit, race and guests are made of.
unit:
	$(TIMED) unit env $$(scripts/needs present) go test -vet=off $(PARALLEL) -timeout $(TIMEOUT) ./... ./lock/...

# The lock alone, with the oldest toolchain and the oldest go-redis that its go.mod
# names: those who import it may have these.
oldest:
	@$(TIMED) oldest scripts/oldest

# The race detector is built with a C compiler.
race:
	@if scripts/needs present | grep -q _CC=; then set -x; $(TIMED) race go test -race -short -vet=off $(PARALLEL) -timeout $(TIMEOUT) $(RACE); else echo "race: skipped, there is no C compiler"; fi

# The tools, the Go adapters, the example with a database and the lock's observer, which
# are modules of their own.
guests:
	@set -e; for module in tools adapters adapters/etcd adapters/gozero adapters/sql examples/service lock/lockotel; do \
		$(TIMED) "guest $$module" scripts/guest $$module; done
	@$(TIMED) "guest adapters/zookeeper" scripts/guest adapters/zookeeper -run TestDescriptions

# ZooKeeper by itself: on a busy machine its ensemble takes longer to find a new
# leader than a session lasts, and the lock is rightly lost. So it stands outside
# of make test.
.PHONY: zookeeper
zookeeper:
	scripts/guest adapters/zookeeper

# Other people's locks: the right ones in every scenario over many seeds, which
# shows false alarms, and each mistake in its scenario.
SEEDS ?= 1000
outsiders:
	HOLDFAST_NIGHTLY=1 go test -timeout 12h ./locktest -run 'TestRightLocks|TestFaultyLocks' -v -outsiders.seeds $(SEEDS) | grep -v '^=== RUN'

vuln:
	@$(TIMED) vuln scripts/vuln

# One core, as a worker of holdfast has it. The ratio that counts, simulated
# against bare miniredis, is measured in the same run.
bench: bench-judges
	@GOMAXPROCS=1 GOGC=800 go test -run '^$$' -bench . -skip "BenchmarkJudges|BenchmarkCheck" -benchtime 2s ./internal/play ./sim/internal/script ./lock ./checker/... ./reports | awk ' \
	/^Benchmark/ { name = $$1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$$/, "", name); \
	  for (i = 3; i < NF; i += 2) if ($$(i) != 0) { printf "%-36s %14s  %s\n", name, $$(i), $$(i+1); \
	    if ($$(i+1) == "us/command") { split(name, p, "/"); if (!(p[2] in least) || $$(i) < least[p[2]]) least[p[2]] = $$(i); if ($$(i) > most[p[2]]) most[p[2]] = $$(i) } \
	    if ($$(i+1) == "scripts/s") rate[name] = $$(i) } } \
	/^(FAIL|panic)/ { print; bad = 1 } \
	END { for (d in least) printf "%-36s %14.2f  %s\n", "Growth/" d, most[d] / least[d], "times the cheapest command (bar: 1.50)"; \
	if (rate["Speed/bare-miniredis"]) printf "%-36s %14.2f  %s\n", "Speed/sim", rate["Speed/sim"] / rate["Speed/bare-miniredis"], "of bare miniredis (bar: 3.00)"; exit bad }'

# Both judges on the same histories, in millions of operations per second.
bench-judges:
	@GOMAXPROCS=1 GOGC=800 go test -run '^$$' -bench BenchmarkJudges -benchtime 1s -timeout 30m ./checker/internal/linear | awk ' \
	function of(key, by) { k = key SUBSEP by; return !(k in rate) ? "not run" : unknown[k] ? "unknown in 5 s" : sprintf("%.3f M ops/s", rate[k] / 1e6) } \
	BEGIN { printf "%-46s %16s %16s\n", "history / leases / lost replies / operations", "fast judge", "porcupine" } \
	/^BenchmarkJudges/ { sub(/-[0-9]+$$/, "", $$1); split($$1, p, "/"); key = p[2] "/" p[3] "/" p[4] "/" p[5]; \
	  for (i = 3; i < NF; i += 2) { if ($$(i+1) == "ops/s") rate[key, p[6]] = $$(i); if ($$(i+1) == "unknown") unknown[key, p[6]] = $$(i) } \
	  if (key != last) { if (last != "") printf "%-46s %16s %16s\n", last, of(last, "fast"), of(last, "porcupine"); last = key } } \
	/^(FAIL|panic)/ { print; bad = 1 } \
	END { printf "%-46s %16s %16s\n", last, of(last, "fast"), of(last, "porcupine"); exit bad }'

# The command on whole histories, on one core: the numbers of docs/judges.md.
bench-check:
	go test -run '^$$' -bench '^BenchmarkCheck$$' -benchtime 3x -timeout 30m ./checker

# The judges of lock histories must agree; make test compares a hundredth of it.
# SEED makes other histories. The last lines are the totals, or the smallest
# history on which two judges differ.
HISTORIES ?= 2000000
SEED ?= 0
soak:
	HOLDFAST_ROUNDS=$(HISTORIES) HOLDFAST_SEED=$(SEED) go test ./checker/internal/linear -run '^TestSoak$$' -v -count 1 -timeout 6h

# go test fuzzes one target at a time. What it finds becomes a file in testdata/fuzz.
FUZZTIME ?= 30s
fuzz:
	@for package in ./checker ./checker/internal/linear ./internal/playground; do \
		for target in $$(go test $$package -list '^Fuzz' | grep '^Fuzz'); do \
			echo "$$target for $(FUZZTIME)"; \
			go test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

# What commands print, in the pages of docs: between the marks of a page, which
# name a file of $$dir each. A command that fails leaves the page as it is.
FILL = awk -v dir="$$dir" ' \
	/^<!-- begin .* -->$$/ { print; print ""; name = $$0; gsub(/^<!-- begin | -->$$/, "", name); \
	  while ((getline line < (dir "/" name)) > 0) print line; print ""; skip = 1 } \
	/^<!-- end .* -->$$/ { skip = 0 } !skip && !/^<!-- begin / { print }'
BUILT = dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && set -e && go build -o "$$dir/holdfast" ./cmd/holdfast

VARY = selftest vary --seeds 100000
track-record:
	@$(BUILT); \
	"$$dir/holdfast" selftest gallery --format markdown >"$$dir/track record"; \
	{ printf '    holdfast %s\n\n' '$(VARY)'; "$$dir/holdfast" $(VARY) --format markdown; } >"$$dir/false alarms"; \
	for page in docs/gallery.md docs/tables/gallery.md; do $(FILL) $$page >"$$dir/page" && cp "$$dir/page" $$page; done

# What exploration within the promises of the reference locks finds, in docs/exploring.md.
SURVIVABLE = reentrant=200000 fair=150000 multi=60000 redlock=40000 fenced=20000 reentrant-wait=20000
.PHONY: survivable
survivable:
	@$(BUILT); printf '| lock | runs | violated | proved nothing |\n|---|---:|---:|---:|\n' >"$$dir/survivable"; \
	for part in $(SURVIVABLE); do \
		"$$dir/holdfast" explore --lock $${part%=*} --survivable --all --seed 6000001 --runs $${part#*=} --out "$$dir/out" --format json >"$$dir/json" || test $$? -eq 1; \
		awk -v lock=$${part%=*} '/^  "(runs|violated|unknown)":/ {n[$$1] = $$2 + 0} END {print "| " lock " | " n["\"runs\":"] " | " n["\"violated\":"] + 0 " | " n["\"unknown\":"] + 0 " |"}' "$$dir/json" >>"$$dir/survivable"; \
		rm -r "$$dir/out"; \
	done; \
	$(FILL) docs/exploring.md >"$$dir/page" && cp "$$dir/page" docs/exploring.md

# A sample of the mutants of the locks, in tools/mutation/survivors.jsonl and
# docs/mutation.md. What was played is kept in RECORD, so that an interrupted make goes on;
# MUTATION are flags. Exit code 1 is that some survive.
RECORD ?= holdfast-runs/mutation
MUTATION ?= --sample 300 --crossed 400 --drawn 20
mutation:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && set -e; code=0; record=$$(realpath -m '$(RECORD)'); cd tools; \
	go build -o "$$dir/mutation" ./mutation; \
	"$$dir/mutation" $(MUTATION) --out "$$record" --format json >"$$dir/survivors" || code=$$?; \
	test $$code -le 1 || exit $$code; \
	cp "$$dir/survivors" mutation/survivors.jsonl; \
	go test ./mutation -run TestThePage -update

# Other people's locks, each built where its toolchain is; elsewhere that is said.
# Go modules have their own, so that nobody else needs them.
adapters:
	cd adapters && go build -o bin/ ./cmd/holdfast-golocks
	cd adapters/etcd && go build -o holdfast-etcd .
	cd adapters/sql && go build -o holdfast-sql .
	cd adapters/zookeeper && go build -o holdfast-zookeeper .
	cd adapters/gozero && go build -o holdfast-gozero .
	@if command -v mvn >/dev/null 2>&1 && command -v java >/dev/null 2>&1; then mvn -q -B -f adapters/jvm package && mvn -q -B -f adapters/curator package && mvn -q -B -f adapters/spring package; \
	else echo "adapters/jvm, adapters/curator, adapters/spring: skipped, they need a JDK and Maven"; fi
	@if command -v npm >/dev/null 2>&1; then cd adapters/node && npm ci --silent --no-audit --no-fund; \
	else echo "adapters/node: skipped, it needs Node and npm"; fi
	@if command -v python3 >/dev/null 2>&1; then cd adapters/python && python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt; \
	else echo "adapters/python: skipped, it needs Python 3"; fi

# The rows of a matrix in Markdown, without those in which every cell is ok or does not apply, and
# without what follows it: the marks, which docs/findings/README.md explains, and the verdicts.
# Scenarios with the same cells share a row.
NOT_OK = awk -F '|' 'function flush() { for (i = 1; i <= n; i++) { print "|" names[cells[i]] " " cells[i]; delete names[cells[i]] } n = 0 } \
	/^\| scenario \| lock / { rest = 1 } /^([0-9]+ runs: |✓)/ || rest && /^\|/ { next } \
	!/^\| /{ flush(); print; next } { for (i = 3; i < NF; i++) if ($$i !~ /^ *(✓|–)? *$$/) break; if (i == NF) next; \
	name = $$2; row = substr($$0, length($$2) + 2); sub(/ +$$/, "", name); \
	if (!(row in names)) cells[++n] = row; names[row] = (names[row] == "" ? "" : names[row] ",") name } END { flush() }'

# The locks of each LIBRARY in every scenario on real servers, as a table in its page
# of docs/findings. An adapter that is not built is left out, in words.
LIBRARY ?= redsync redislock rueidislock go-zero redisson node-redlock redis-semaphore redis-py python-redis-lock pottery spring etcd
findings: adapters
	@$(BUILT); worst=0; \
	play() { \
		lib=$$1; shift; page=docs/findings/$$lib.md; code=0; \
		case ' $(LIBRARY) ' in *" $$lib "*) ;; *) return 0;; esac; \
		if ! out=$$("$$dir/holdfast" adapter describe -- $$2 2>&1); then echo "$$lib is left out: $$out"; return 0; fi; \
		set -- run --world live "$$@"; \
		{ printf '    holdfast %s\n\n' "$$*"; "$$dir/holdfast" "$$@" --format markdown --out "$$dir/$$lib" || code=$$?; } >"$$dir/whole"; \
		sed -n '/^| scenario | lock /,$$p' "$$dir/whole"; \
		$(NOT_OK) "$$dir/whole" | cat -s >"$$dir/table"; \
		case $$code in 0|1|3) $(FILL) "$$page" >"$$dir/page" && cp "$$dir/page" "$$page";; esac; \
		test $$code -le $$worst || worst=$$code; \
	}; \
	play redsync --adapter adapters/bin/holdfast-golocks --lock redsync,redsync-5 --accept adapters/redsync/accepted.yaml; \
	play redislock --adapter adapters/bin/holdfast-golocks --lock redislock --accept adapters/redislock/accepted.yaml; \
	play rueidislock --adapter adapters/bin/holdfast-golocks --lock rueidislock --accept adapters/rueidislock/accepted.yaml; \
	play go-zero --adapter adapters/gozero/holdfast-gozero --time-scale 1 --accept adapters/gozero/accepted.yaml; \
	play redisson --adapter adapters/jvm/holdfast-redisson --workers 4 --accept adapters/jvm/accepted.yaml; \
	play node-redlock --adapter adapters/node/holdfast-node-redlock --lock node-redlock,node-redlock-3,node-redlock-using --accept adapters/node/accepted.yaml; \
	play redis-semaphore --adapter adapters/node/holdfast-node-redlock --lock redis-semaphore,redis-semaphore-3 --accept adapters/node/accepted.yaml; \
	play redis-py --adapter adapters/python/holdfast-redis-py --lock redis-py,redis-py-no-timeout --accept adapters/python/accepted.yaml; \
	play python-redis-lock --adapter adapters/python/holdfast-redis-py --lock python-redis-lock,python-redis-lock-renewed,python-redis-lock-no-expire --time-scale 1 --accept adapters/python/accepted.yaml; \
	play pottery --adapter adapters/python/holdfast-redis-py --lock pottery,pottery-3 --accept adapters/python/accepted.yaml; \
	play spring --adapter adapters/spring/holdfast-spring --workers 2 --accept adapters/spring/accepted.yaml; \
	play etcd --adapter adapters/etcd/holdfast-etcd --lock etcd,etcd-fenced --accept adapters/etcd/accepted.yaml; \
	exit $$worst

# Bugs that people reported, in the version that had them and in the one that mended them.
.PHONY: reported
reported: adapters
	scripts/reported

# Locks on other systems beside one on Redis, in docs/systems.md. SYSTEMS chooses
# locks by name. A system whose servers are not installed is left out, in words.
# Each lock is played by itself, and each cell TIMES times; PLAYED keeps the runs.
HAZARDS ?= holder-crash holder-pause partitioned-holder failover-lost-write ./adapters/scenarios/lost-replies.yaml
TIMES ?= 3
PLAYED ?= holdfast-runs/systems
SYSTEMS ?= reentrant,etcd,zookeeper,zookeeper-fenced,curator,curator-fenced,postgres-row,postgres-advisory,postgres-advisory-timeout,postgres-advisory-xact,postgres-advisory-xact-timeout,postgres-for-update,postgres-for-update-timeout,mariadb-row,mariadb-get-lock,mariadb-get-lock-timeout,mariadb-for-update,mariadb-for-update-timeout
systems:
	cd adapters/etcd && go build -o holdfast-etcd .
	cd adapters/sql && go build -o holdfast-sql .
	cd adapters/zookeeper && go build -o holdfast-zookeeper .
	@if command -v mvn >/dev/null 2>&1; then mvn -q -B -f adapters/curator package; else echo "adapters/curator: skipped, it needs a JDK and Maven"; fi
	@$(BUILT); set --; \
	for lock in $$(echo '$(SYSTEMS)' | tr , ' '); do \
		case $$lock in \
		etcd*) how="--workers 3 --adapter adapters/etcd/holdfast-etcd";; \
		zookeeper*) how="--workers 1 --adapter adapters/zookeeper/holdfast-zookeeper";; \
		curator*) how="--workers 1 --adapter adapters/curator/holdfast-curator";; \
		reentrant) how="--workers 3";; \
		*) how="--workers 3 --adapter adapters/sql/holdfast-sql";; \
		esac; \
		case $$lock in reentrant) ;; *) how="$$how --user careless";; esac; \
		code=0; rm -rf "$(PLAYED)/$$lock"; \
		"$$dir/holdfast" run $(HAZARDS) --world live --lock $$lock $$how --seeds $(TIMES) --out "$(PLAYED)/$$lock" || code=$$?; \
		case $$code in 0|1|3) set -- "$$@" "$(PLAYED)/$$lock";; esac; \
	done; \
	"$$dir/holdfast" merge "$$@" --out "$$dir/all" >/dev/null; \
	"$$dir/holdfast" report "$$dir/all" --format markdown >"$$dir/systems"; \
	$(FILL) docs/systems.md >"$$dir/page" && cp "$$dir/page" docs/systems.md

# How likely the hazards are, in docs/sweep.md, with a picture for each.
sweeps:
	@$(BUILT); \
	sweep() { name=$$1; shift; "$$dir/holdfast" sweep "$$@" --format markdown --out "$$dir/out" >"$$dir/$$name"; cp "$$dir/out/sweep.svg" "docs/sweep-$$name.svg"; }; \
	sweep lag failover-at-random --lock reentrant --over lag=1ms~500ms:10 --seeds 2000; \
	sweep acks failover-of-two-at-random --lock reentrant-wait --over lag=50ms,100ms,200ms,400ms --over acks=1,2 --seeds 1000; \
	sweep pause pause-at-random --lock reentrant --over pause=5s..12s:15 --seeds 500; \
	sweep pause-and-lease pause-at-random --lock reentrant --over pause=4s..16s:7 --over lease=6s..15s:4 --seeds 100; \
	for name in pause pause-and-lease; do grep -v '^|' "$$dir/$$name" | cat -s >"$$dir/text" && cp "$$dir/text" "$$dir/$$name"; done; \
	$(FILL) docs/sweep.md >"$$dir/page" && cp "$$dir/page" docs/sweep.md

# servers plays the reference lock on every server as it is offered, and writes the table
# of docs/servers.md.
.PHONY: servers
servers:
	go test ./internal/suite -run TestTheServersPage -update -count 1

# The simulator beside real servers, each with its profile. The first is the one on the
# PATH. SERVERS keeps the programs of the others.
FIDELITY ?= --lock reentrant,fair,set-px-lua
SERVERS ?= holdfast-runs/servers
.PHONY: fidelity
fidelity:
	@$(BUILT); code=0; scripts/servers '$(SERVERS)' >"$$dir/servers"; \
	"$$dir/holdfast" selftest fidelity $(FIDELITY) --out "$$dir/path" || code=$$?; \
	while read -r name program; do \
		echo "$$name:"; \
		locks='$(FIDELITY)'; case $$name in valkey-9*) locks="$$locks --lock no-script";; esac; \
		"$$dir/holdfast" selftest fidelity $$locks --server "$$name" --backend "$$program" --out "$$dir/$$name" || code=$$?; \
	done <"$$dir/servers"; \
	exit $$code

# What every single fault shows of each lock: all of it for the locks on one primary,
# and parts of what takes longer. docs/exhaustive.md has a row for each, and
# docs/tables/exhaustive.md the violated properties. Exit code 1 is that it finds something.
PLACED = reentrant=1/1 fenced=1/1 fair=1/1 set-px-lua=1/1 set-px-renew=1/1 set-px-watch=1/1 set-px-check=1/1 set-px=1/1 setnx=1/1 setnx-expire=1/1 reentrant-wait=1/1 multi=1/8 redlock-3=1/4 redlock=1/32
.PHONY: placed
placed:
	@$(BUILT); go build -o "$$dir/placed" scripts/placed.go; docs=$$PWD/docs; bin=$$dir/holdfast; mkdir "$$dir/found" && cd "$$dir/found"; \
	place() { \
		name=$$1; shift; set -- explore --exhaustive "$$@" --shrink=false --out "$$name"; code=0; \
		"$$bin" "$$@" >/dev/null || code=$$?; \
		test $$code -le 1; \
	}; \
	for part in $(PLACED); do place $${part%=*} --lock $${part%=*} --shard $${part#*=}; done; \
	place reentrant-pairs --lock reentrant --depth 2 --base one-hold --shard 1/64; \
	"$$dir/placed" "$$dir" $(foreach part,$(PLACED),$(firstword $(subst =, ,$(part)))) reentrant-pairs; \
	for page in exhaustive.md tables/exhaustive.md; do $(FILL) "$$docs/$$page" >"$$dir/page" && cp "$$dir/page" "$$docs/$$page"; done

# BENCH are its flags, as -quick or -only handoff. REDISSON is the command of
# Redisson's adapter, without which Redisson is not measured.
BENCH ?=
REDISSON ?= $(if $(wildcard adapters/jvm/target/holdfast-redisson.jar),$(CURDIR)/adapters/jvm/holdfast-redisson)
bench-locks:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && set -e; \
	cd adapters && go build -o "$$dir/bench-locks" ./bench && cd ..; \
	"$$dir/bench-locks" -redisson '$(REDISSON)' $(BENCH) >"$$dir/bench"; cat "$$dir/bench"; \
	case '$(BENCH)' in '') sed -e '/| pass |$$/d' -e '/| not measured:/d' -e '/^| 2 waiters/,/^A round trip/d' "$$dir/bench" | cat -s >"$$dir/missed" && mv "$$dir/missed" "$$dir/bench"; $(FILL) docs/bench-locks.md >"$$dir/page" && cp "$$dir/page" docs/bench-locks.md;; esac

# The page of holdfast serve, for a web server that only has files. See docs/playground.md.
SITE ?= holdfast-playground
.PHONY: playground
playground:
	go run ./internal/playground/static '$(SITE)'

# Everything but the live world works on these systems too: see docs/portability.md.
PORTABLE = windows/amd64 darwin/arm64 freebsd/amd64 js/wasm
.PHONY: portable
portable:
	@for target in $(PORTABLE); do \
		echo "$$target"; \
		export GOOS=$${target%/*} GOARCH=$${target#*/}; \
		go build -o /dev/null ./cmd/holdfast && go vet ./... ./lock/... || exit 1; \
	done
