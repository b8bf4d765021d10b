# The commands of the project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help up test test-helm bench-helm real lifecycle model fuzz bench kubernetes crds fmt clean

# Built and fetched programs (kube-apiserver, etcd, kubectl, helm, cargo-deny) live here, shared by all clones.
export BUTLER_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/butler

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## Build Butler and run it on this machine; ARGS="--detach --api-port 7443" is passed on, PROFILE=release is faster
	@PROFILE=$(or $(PROFILE),dev) scripts/up --demo $(ARGS)

test: ## Everything that must hold: format, lints, docs, tests, generated files, dependencies
	@scripts/test

test-helm: ## Compare our rendering of charts with real helm's: CHARTS=dir, with charts or archives in it
	@scripts/tools >/dev/null
	@cargo run --locked --package helm --example compare -- $(or $(CHARTS),$(error CHARTS names no directory))

bench-helm: ## Compare the speed of rendering with real helm's
	@scripts/tools >/dev/null
	@cargo run --locked --release --package helm --example speed

real: ## Real control planes with a real node, end to end (needs root, and what make kubernetes builds); ARGS="shared gone" runs some parts
	@scripts/kubernetes v1.35.4 kube-apiserver kube-controller-manager kube-scheduler
	@cargo build --locked --package butler
	@scripts/real $${CARGO_TARGET_DIR:-target}/debug/butler $(ARGS)

lifecycle: ## The life of a tenant cluster, command by command, where it can be: ARGS="embedded management tenants cluster-api" runs some
	@scripts/tools >/dev/null
	@$(if $(or $(findstring cluster-api,$(ARGS)),$(if $(ARGS),,all)),scripts/cluster-api >/dev/null || echo "Cluster API cannot be built here; the rest goes on" >&2)
	@cargo build --locked --package butler --package cli
	@scripts/lifecycle $${CARGO_TARGET_DIR:-target}/debug/butler $${CARGO_TARGET_DIR:-target}/debug/butlerctl $(ARGS)

model: ## Live ten thousand random lives of tenant clusters, with faults; make test lives a thousand
	@SEEDS=10000 cargo test --locked --release --package fleet --test model

fuzz: ## Look for input that crashes Butler, a minute for each kind of input (needs a C++ compiler); ARGS="cel yaml" runs some
	@scripts/fuzz $(ARGS)

bench: ## Compare speed and memory with a real kube-apiserver and etcd; ARGS="--quick" is passed on
	@cargo build --locked --release --package butler --package cli --package bench
	@cargo run --locked --release --package bench -- $(ARGS)
	@[ -n "$(ARGS)" ] || scripts/real $${CARGO_TARGET_DIR:-target}/release/butler overhead

kubernetes: ## Build the real Kubernetes and etcd that the tests compare with (needs Go; 7 minutes on two cores, once)
	@scripts/kubernetes
	@scripts/etcd

crds: ## Write crds/ anew from crates/api and crates/capi
	@cargo xtask crds

fmt: ## Format all code
	@cargo fmt --all

clean: ## Remove what was built in this clone; the shared cache stays
	@cargo clean
