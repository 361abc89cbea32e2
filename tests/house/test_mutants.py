"""The list of mutations fits the code: each still applies, and its tests exist."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_runner():
    spec = spec_from_file_location("mutants_run", ROOT / "tests/mutants/run.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


RUNNER = load_runner()
MUTATIONS = RUNNER.read_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[mutation.what for mutation in MUTATIONS])
def test_every_mutation_applies(mutation):
    assert mutation.applied(ROOT) != (ROOT / mutation.file).read_text(encoding="utf-8")
    assert mutation.tests
    for place in mutation.tests:
        path, _, name = place.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_descriptions_tell_mutations_apart():
    assert len({mutation.what for mutation in MUTATIONS}) == len(MUTATIONS)


def test_a_text_that_does_not_occur_once_is_refused(tmp_path):
    (tmp_path / "code.py").write_text("x = 1\nx = 1\n")
    for old, n in (("x = 1", 2), ("x = 2", 0)):
        mutation = RUNNER.Mutation("a slip", "code.py", old, "x = 3", ("tests/graph",))
        with pytest.raises(ValueError, match=f"occurs {n} times in code.py, not once"):
            mutation.applied(tmp_path)
