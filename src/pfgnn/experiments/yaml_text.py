"""Read YAML from a text that nobody has checked: no key twice, and nothing that grows without a bound."""

from collections.abc import Hashable
from typing import Any

import yaml

from pfgnn.errors import InputError, cut

MOST_CHARACTERS = 100_000
MOST_VALUES = 10_000  # values, counted again wherever an alias repeats them
MOST_LEVELS = 50
LONGEST_PROBLEM = 200  # characters of PyYAML's message that are quoted


class _Loader(yaml.SafeLoader):
    """A YAML loader that raises an error if a key occurs twice. PyYAML would silently keep the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            text = str(key.value)
            if text in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {text} occurs twice", key.start_mark)
            seen.add(text)
        return super().construct_mapping(node, deep)


def load_yaml(text: str, source: str) -> Any:
    """Read a YAML text. Nothing in it is executed.

    Args:
        text: The text.
        source: Where it comes from, for the message.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{source} must be YAML of at most {MOST_CHARACTERS} characters, but it has {len(text)}")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {}, frozenset(), source)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = cut(str(error.problem).removeprefix("but "), LONGEST_PROBLEM)
        raise InputError(f"{source}, line {line} must be YAML, but {problem}") from None
    except RecursionError:
        raise InputError(f"{source} must have at most {MOST_LEVELS} levels, but it has more") from None
    except InputError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # such as a date or a number that cannot be
        raise InputError(f"{source} must be YAML, but {cut(str(error), LONGEST_PROBLEM)}") from None


def _count(node: yaml.Node, known: dict[int, int], above: frozenset[int], source: str) -> int:
    """The number of values under a node, with those that aliases repeat. Raises an InputError if there are too many.

    Args:
        node: The node.
        known: The numbers that are known already, by the identity of the node.
        above: The identities of the nodes that this one is part of.
        source: Where the text comes from, for the message.
    """
    if id(node) in above:
        raise InputError(f"{source}, line {node.start_mark.line + 1}: an alias must not lead back to itself")
    if len(above) > MOST_LEVELS:
        raise InputError(f"{source} must have at most {MOST_LEVELS} levels, but it has more")
    if id(node) not in known:
        parts = node.value if isinstance(node, yaml.CollectionNode) else []
        children = [child for part in parts for child in (part if isinstance(part, tuple) else (part,))]
        known[id(node)] = 1 + sum(_count(child, known, above | {id(node)}, source) for child in children)
    if known[id(node)] > MOST_VALUES:
        raise InputError(f"{source} must have at most {MOST_VALUES} values, counted with its aliases, but it has more")
    return known[id(node)]
