"""Every option of a public function is a keyword with a default and a description."""

import inspect
import re
import sys
from pathlib import Path

import jedi
import pytest

import bowfree as bf

FUNCTIONS = {
    name: getattr(bf, name) for name in bf.__all__ if inspect.isfunction(getattr(bf, name))
}


def parameters(name, *kinds):
    """Return the parameters of a function, by name; only those of some kinds."""
    found = inspect.signature(FUNCTIONS[name]).parameters
    return {key: p for key, p in found.items() if not kinds or p.kind in kinds}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_option_is_a_parameter_and_described(name):
    assert not parameters(name, inspect.Parameter.VAR_KEYWORD)
    doc = inspect.getdoc(FUNCTIONS[name])
    for parameter in parameters(name):
        described = re.search(rf"^\*{{0,2}}(\w+, )*{parameter}(, \w+)*( :|$)", doc, re.MULTILINE)
        assert described, f"{name} does not describe {parameter}"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_unknown_keyword(name):
    required = {
        key: None
        for key, p in parameters(name).items()
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    }
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'wrongg'"):
        FUNCTIONS[name](**required, wrongg=1)
    longest = max(parameters(name), key=len)
    if len(longest) > 4:
        with pytest.raises(TypeError, match=f"did you mean '{longest}'"):
            FUNCTIONS[name](**required, **{longest + "x": 1})


# Without the import hook of an editable installation, whose loader Jedi does not read.
PROJECT = jedi.Project(".", added_sys_path=[str(Path(bf.__file__).parents[1])])
PYTHON = jedi.create_environment(sys.base_prefix, safe=False)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_editors_complete_keywords(name):
    """Jedi, which IPython and many editors use, completes every keyword."""
    code = f"import bowfree as bf\nbf.{name}("
    script = jedi.Script(code, project=PROJECT, environment=PYTHON)
    found = {c.name for c in script.complete(2, len(f"bf.{name}("))}
    options = parameters(name, inspect.Parameter.KEYWORD_ONLY)
    assert not [option for option in options if f"{option}=" not in found]
