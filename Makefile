# The entrances of the project. `make demo` is the one to try first.
# Each target brings what it needs: scripts/setup installs missing Debian packages, and starts none of their services.

SWIFT_BUILD := swift build -j $(shell nproc)
SOURCES := Package.swift Sources Tests

.DEFAULT_GOAL := build
.PHONY: build demo test chaos bench format lint clean

build:
	scripts/setup build
	$(SWIFT_BUILD) --product pushbridge

demo:
	scripts/setup demo
	$(SWIFT_BUILD) --product pushbridge
	scripts/clean-environment "$$(swift build --show-bin-path)/pushbridge" demo $(DEMO_FLAGS)

test:
	scripts/test

chaos:
	scripts/chaos $(CHAOS_FLAGS)

bench:
	scripts/bench

format:
	swift format format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)
	scripts/limits

clean:
	rm -rf .build .venv
